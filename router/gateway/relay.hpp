#pragma once

#include <span>
#include <string>
#include <string_view>

#include "router/gateway/exchange_state.hpp"
#include "router/gateway/response_head.hpp"
#include "router/gateway/sse_scanner.hpp"

namespace fareway {

/// Carries one good answer from an engine to the client, byte for byte, and settles it before its last byte.
///
/// Event streams go on event by event, as they come: while nothing but plain events arrive no coroutine is
/// resumed, and a stream that waits holds no buffer. Other answers are read whole first where they are small,
/// so that nothing has been sent if they break off; large ones flow through but for their last bytes. One
/// read from the engine is under way only when all that was read before has been taken by the client.
class Relay {
 public:
  enum class End {
    kServed,       ///< whole and settled; the client's connection may serve another request
    kBrokenOff,    ///< settled; the client was shown that something is missing, its connection is useless
    kNothingSent,  ///< failed before the client saw a byte; not settled
  };

  /// `state.upstream` has read the head of a 2xx answer.
  explicit Relay(ExchangeState& state) : state_(state) {}

  Task<End> run();
  /// The engine's own report of a failure in the first event of a stream, kept back: try elsewhere.
  bool refused_in_stream() const { return refused_in_stream_; }
  /// Closing is how this client learns where the body ends.
  bool ends_by_close() const { return framing_ == Framing::kClose; }

 private:
  Task<End> relay_events();
  Task<End> relay_whole();
  Task<End> relay_through(std::string begun, std::size_t keep_back);

  Task<UpstreamConnection::Taken> next();
  Task<UpstreamConnection::Taken> next_that_matters(SseScanner& scanner);
  bool pass_on(SseScanner& scanner, UpstreamConnection::Taken& taken);
  void set_deadline();
  ClientStream::Sent send_now(std::span<const std::string_view> parts, bool last);
  Task<bool> finish_send(ClientStream::Sent sent);
  Task<bool> send(std::span<const std::string_view> parts, bool last);
  Task<bool> send_one(std::string bytes, bool last);
  Task<End> stop(const AnswerFacts& facts, std::string_view before_error);
  void learn(const AnswerFacts& facts);
  std::string take_head();
  void report_health(bool cut, const AnswerFacts& facts);

  ExchangeState& state_;
  Framing framing_{Framing::kChunked};
  std::uint64_t length_{0};
  int status_{200};
  bool head_sent_{false};
  bool begun_{false};  // something that is not a keep-alive has come
  bool settled_{false};
  bool refused_in_stream_{false};
  ClientStream::Sent passed_{ClientStream::Sent::kAll};  // how far the events passed on last have gone
  std::int64_t deltas_seen_{0};
};

}  // namespace fareway
