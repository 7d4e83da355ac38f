#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "pricing/base/units.hpp"

namespace fareway {

/// Whether a replica is in rotation. Pure state machine; the router reports what it sees, with the time.
///
/// In rotation until two probes in a row fail, one connection fails, or five answers in a row fail (5xx, cut
/// connections, no first byte in time; a 4xx or 429 says nothing). Out of rotation until a probe that began
/// after the last failure succeeds; after failed answers not before a back-off of 5 s, doubled up to 60 s
/// while it recurs.
class ReplicaHealth {
 public:
  enum class State { kUnknown, kServing, kOut };

  State state() const { return state_; }
  bool serving() const { return state_ == State::kServing; }
  /// "probe failed", "connection refused", ...; empty while serving.
  const std::string& reason() const { return reason_; }
  TimePoint since() const { return since_; }

  /// `began`: when the probe was sent. A probe older than the last failure cannot bring a replica back.
  void probe_succeeded(TimePoint began, TimePoint now);
  void probe_failed(std::string_view reason, TimePoint now);
  void connection_failed(TimePoint now);
  void answer_succeeded();
  void answer_failed(TimePoint now);

 private:
  void leave(std::string_view reason, TimePoint now);

  State state_{State::kUnknown};
  std::string reason_{"not probed yet"};
  TimePoint since_{};
  TimePoint not_before_{};
  std::chrono::seconds back_off_{5};
  std::uint32_t failed_probes_{0};
  std::uint32_t failed_answers_{0};
};

}  // namespace fareway
