#pragma once

#include <chrono>

#include "pricing/base/units.hpp"

namespace fareway {

/// What a connection is waiting for.
enum class Wait {
  kNothing,
  kHandshake,    ///< of TLS, before the first request
  kNextRequest,  ///< idle, between two requests
  kHead,
  kBody,
  kClientWrite,
  kLinger,  ///< reading what a refused client still sends
  kConnect,
  kFirstByte,
  kAnswer,  ///< between two reads of an answer that has begun
};

/// The one deadline of a connection: setting it is two stores, and the loop's coarse tick looks at it. Limits
/// are seconds to minutes, so being late by a tick (`kTick`) does not matter.
class Deadline {
 public:
  static constexpr std::chrono::milliseconds kTick{50};

  void set(Wait wait, TimePoint at) {
    wait_ = wait;
    at_ = at;
  }
  void clear() { wait_ = Wait::kNothing; }
  Wait waiting_for() const { return wait_; }
  bool passed(TimePoint now) const { return wait_ != Wait::kNothing && now >= at_; }

 private:
  Wait wait_{Wait::kNothing};
  TimePoint at_{};
};

}  // namespace fareway
