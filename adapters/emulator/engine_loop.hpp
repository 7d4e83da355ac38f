#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <prometheus/histogram.h>

#include "adapters/emulator/batch.hpp"

namespace fareway::emulator {

/// One sequence on the engine, as its request sees it.
class Generation {
 public:
  explicit Generation(boost::asio::io_context& loop) : changed_(loop) {}

  Tokens produced() const { return produced_; }
  Tokens cached() const { return cached_; }  ///< of the prompt; known with the first token
  bool finished() const { return finished_; }
  bool aborted() const { return aborted_; }
  /// Returns when more than `seen` tokens are there, or it has finished or been aborted.
  boost::asio::awaitable<void> progress(Tokens seen);

 private:
  friend class EngineLoop;
  SequenceId id_{};
  Seconds began_{};
  Seconds last_token_{};
  Tokens produced_;
  Tokens cached_;
  bool finished_{false};
  bool aborted_{false};
  boost::asio::steady_timer changed_;  // never expires; cancelling it wakes the request
};

/// Drives one `Batch` in real time: `pace` emulated seconds pass in each real one. All on one loop; the
/// loop's timer is armed only while a step is under way.
class EngineLoop : public std::enable_shared_from_this<EngineLoop> {
 public:
  EngineLoop(boost::asio::io_context& loop, BatchLimits limits, double pace);

  /// Null where the sequence can never fit.
  std::shared_ptr<Generation> start(Sequence sequence);
  /// Frees what the sequence holds, at once. Does nothing to one that has ended.
  void abort(Generation& generation);
  void abort_all();
  /// From now on; 0 freezes the engine.
  void set_pace(double pace);

  const Batch& batch() const { return batch_; }
  const prometheus::Histogram& time_to_first_token() const { return time_to_first_token_; }
  const prometheus::Histogram& inter_token_latency() const { return inter_token_latency_; }

 private:
  Seconds emulated_now() const;
  void on_event(const BatchEvent& event);
  void advance();
  void arm_timer();

  boost::asio::io_context& loop_;
  Batch batch_;
  double pace_;
  std::chrono::steady_clock::time_point real_anchor_;
  Seconds emulated_anchor_{};
  boost::asio::steady_timer timer_;
  std::optional<Seconds> armed_for_;
  std::unordered_map<SequenceId, std::shared_ptr<Generation>> generations_;
  prometheus::Histogram time_to_first_token_;  // emulated seconds
  prometheus::Histogram inter_token_latency_;  // emulated seconds
};

}  // namespace fareway::emulator
