#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <prometheus/registry.h>

#include "router/gateway/gateway.hpp"
#include "tests/support/scripted_backend.hpp"

namespace fareway::testing {

inline constexpr std::string_view kKey = "sk-client-0001";
inline constexpr std::string_view kOtherKey =
    "sk-client-0002";  // of a tenant that may use no model but "other"

/// One row of the ledger, as far as tests look at it.
struct SeenRow {
  std::string request_id;
  std::string outcome;
  int status{};
  std::string usage_source;
  std::optional<std::int64_t> prompt;
  std::optional<std::int64_t> cached;
  std::optional<std::int64_t> completion;
  std::optional<std::int64_t> price;
  std::string session;
  bool has_ttft{};
  std::vector<std::string> replicas;  ///< of the attempts, in order
};

/// A gateway on a thread of its own, in front of replicas on the given ports: "r0", "r1", ... all serve model
/// "m" and prefer the lower number (they get dearer). Its ledger is a file of its own, gone afterwards.
class RunningGateway {
 public:
  struct Options {
    std::vector<std::uint16_t> replicas;
    std::string replica_key{};
    std::function<void(Config&)> adjust{};
  };
  explicit RunningGateway(Options options);
  ~RunningGateway();
  RunningGateway(const RunningGateway&) = delete;
  RunningGateway& operator=(const RunningGateway&) = delete;

  RawConnection connect() const { return RawConnection::to(port_); }
  std::uint16_t port() const { return port_; }

  /// All rows, once there are at least `count`; what there is after ten seconds.
  std::vector<SeenRow> rows(std::size_t count) const;
  const std::filesystem::path& ledger_file() const { return file_; }

  /// Runs on the gateway's thread and returns what it returned.
  void on_loop(const std::function<void()>& action);
  bool in_rotation(std::uint32_t replica);
  std::size_t in_flight(std::uint32_t replica);
  /// Waits until nothing is in flight; false after ten seconds.
  bool settles_down();
  /// Waits until so many requests wait for a replica; false after ten seconds.
  bool waits_for_queue(std::size_t count);
  /// What a scrape shows.
  std::string metrics_page() const;
  /// On the gateway's thread; what it throws is rethrown here.
  void reload_certificates();
  void drain_and_wait();
  void cut();

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
  Config config_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<SqliteLedger> ledger_;
  std::unique_ptr<LiveFleet> fleet_;
  DecisionLog decisions_;
  prometheus::Registry registry_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Gateway> gateway_;
  std::uint16_t port_{};
  std::thread thread_;
};

/// A request with `kKey`. `extra` are whole header lines.
std::string post(std::string_view body, std::string_view path = "/v1/chat/completions",
                 std::string_view extra = {});
inline constexpr std::string_view kStreamBody =
    R"({"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true})";
inline constexpr std::string_view kPlainBody = R"({"model":"m","messages":[{"role":"user","content":"hi"}]})";

// Pieces of streams, as the case collection names them.
inline constexpr std::string_view kSseHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
std::string event(std::string_view text);
std::string role_event();
std::string finish_event(std::string_view reason = "stop");
std::string usage_event(int prompt, int completion);
inline constexpr std::string_view kDone = "data: [DONE]\n\n";
inline constexpr std::string_view kLast = "0\r\n\r\n";
std::string chunk(std::string_view bytes);
/// A 200 answer with JSON and Content-Length.
std::string json_answer(std::string_view body);
std::string chat_answer(int prompt, int completion);

}  // namespace fareway::testing
