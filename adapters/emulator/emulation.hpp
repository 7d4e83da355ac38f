#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "adapters/emulator/answer_format.hpp"
#include "adapters/emulator/emulator.hpp"
#include "adapters/emulator/engine_loop.hpp"
#include "adapters/emulator/faults.hpp"

namespace fareway::emulator {

/// What all connections of one emulated server share. Lives on one loop, kept by the server and by each
/// connection.
class Emulation : public std::enable_shared_from_this<Emulation> {
 public:
  struct Finished {
    std::int64_t stop{};
    std::int64_t length{};
    std::int64_t abort{};
  };
  /// Opens the listening socket, or closes it; connections that are there already stay.
  using Listen = std::function<void(bool open)>;

  /// Throws std::invalid_argument where the replica cannot run.
  Emulation(boost::asio::io_context& loop, EmulatedReplica replica);

  const EmulatedReplica& replica() const { return replica_; }
  EngineLoop& engine() { return *engine_; }
  const EngineLoop& engine() const { return *engine_; }
  std::int64_t started_at() const { return started_at_; }  ///< Unix seconds

  /// Puts the fault in force, in place of the one before.
  void set_fault(Fault fault, Listen listen);
  void clear_fault();
  const Faults& faults() const { return faults_; }
  /// Called once for each request for the engine; what is to strike it.
  std::optional<Fault> request_came();

  AnswerHead next_answer(const ApiRequest& request, std::uint64_t seed);
  void count(FinishReason reason) { ++(reason == FinishReason::kStop ? finished_.stop : finished_.length); }
  void count_abort() { ++finished_.abort; }
  const Finished& finished() const { return finished_; }

  std::unordered_set<boost::asio::ip::tcp::socket*>& connections() { return connections_; }
  /// Ends every sequence and every connection.
  void shut_down();

 private:
  EmulatedReplica replica_;
  std::shared_ptr<EngineLoop> engine_;
  Faults faults_;
  Listen listen_;
  boost::asio::steady_timer fault_ends_;
  std::int64_t started_at_;
  std::uint64_t answers_{0};
  Finished finished_;
  std::unordered_set<boost::asio::ip::tcp::socket*> connections_;
};

}  // namespace fareway::emulator
