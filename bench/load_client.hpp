#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/body_check.hpp"
#include "bench/form.hpp"
#include "bench/histogram.hpp"
#include "bench/payload.hpp"
#include "bench/reply_reader.hpp"
#include "bench/sockets.hpp"

namespace fareway::bench {

struct LoadOptions {
  std::uint16_t port{0};
  std::vector<std::string> headers;  ///< "name: value"
  std::size_t connections{1};
  std::size_t body_bytes{2048};
  Ask ask;                                ///< its number is replaced by each request's own
  std::chrono::nanoseconds start_over{};  ///< connections begin evenly over this time
  std::chrono::nanoseconds pace{};  ///< between the starts of two requests of one connection; 0: at once
};

/// What was seen while the window was open. Delays of events are from the engine's send to the client's read.
struct LoadCounts {
  std::uint64_t requests{0};  ///< complete answers
  std::uint64_t events{0};    ///< timed events of streams
  std::uint64_t reads{0};
  Histogram request_time;
  Histogram first_event_time;  ///< of streams that began inside the window
  Histogram event_delay;
};

/// Closed-loop clients on one thread: each connection sends its next request when the last is answered (or
/// when its pace says so), and checks every byte that comes back. Not for hosts other than 127.0.0.1.
class LoadClient {
 public:
  explicit LoadClient(LoadOptions options);

  void run_until(Instant end);
  void open_window() { window_.emplace(); }
  LoadCounts close_window();
  /// Lets answers under way arrive without sending anything new.
  void finish_until(Instant end);

  std::uint64_t started() const { return started_; }
  std::size_t answering() const { return answering_; }  ///< streams whose first event has come
  std::uint64_t errors() const { return errors_; }
  const std::string& first_error() const { return first_error_; }

 private:
  enum class State { kIdle, kConnecting, kSending, kReading };
  struct Connection {
    Connection(const Ask& ask, Form form) : request(std::move(form)), check(ask) {}
    Descriptor socket;
    State state{State::kIdle};
    Form request;
    std::size_t sent{0};
    ReplyReader reply;
    BodyCheck check;
    Instant began;
    std::uint32_t events_seen{0};
    bool began_in_window{false};
  };
  struct Start {
    Instant due;
    std::size_t connection;
    bool operator>(const Start& other) const { return due > other.due; }
  };

  void begin(std::size_t index);
  void handle(const epoll_event& event);
  void send(std::size_t index);
  void receive_reply(std::size_t index);
  bool take(Connection& connection, std::string_view bytes, Instant time);
  void saw_event(Connection& connection, Instant sent, Instant time);
  void complete(std::size_t index, Instant time);
  void fail(std::size_t index, const std::string& why);

  static constexpr std::size_t kScratchBytes = 256 * 1024;

  LoadOptions options_;
  Poller poller_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  std::optional<LoadCounts> window_;
  std::vector<char> scratch_ = std::vector<char>(kScratchBytes);
  std::vector<Instant> times_;
  std::uint64_t started_{0};
  std::size_t open_{0};  // requests under way
  std::size_t answering_{0};
  std::uint64_t errors_{0};
  std::string first_error_;
  bool finishing_{false};
};

}  // namespace fareway::bench
