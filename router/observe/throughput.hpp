#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "placement/fleet.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// How many tokens a second each engine generated lately, all clients together, from the engines' own
/// counters. Owned by the data loop, not thread-safe.
class ThroughputWindow {
 public:
  /// What "lately" means; long enough to smooth single requests, short enough to be called "now".
  static constexpr Seconds kWindow{60};
  /// A newest reading older than this says nothing about now.
  static constexpr Seconds kStale{15};

  explicit ThroughputWindow(std::size_t replicas);

  /// Takes the readings that are new since the last call; call it about once a second.
  void fleet_changed(const Fleet& fleet);

  /// Mean over the readings of the last minute. Nothing where that is not known: the engine reports no
  /// counter, has given fewer than two readings since it (re)started, or has been silent for `kStale`. Idle
  /// engines give 0.
  std::optional<TokensPerSecond> rate(ReplicaIndex replica, TimePoint now) const;

 private:
  struct Sample {
    TimePoint read_at;
    std::int64_t generated;
  };
  std::vector<std::deque<Sample>> samples_;  // by replica, oldest first
};

}  // namespace fareway
