#pragma once

#include <optional>
#include <vector>

#include "placement/fleet.hpp"

namespace fareway {

/// Which part of a replica's work is slow.
enum class WorkPhase { kPrefill, kDecode };
std::string_view to_string(WorkPhase phase);

/// A replica that is slower than it should be, and what that rests on. Its decisions are priced with the
/// measured times already; this is for people.
struct SlowDown {
  ReplicaIndex replica;
  WorkPhase phase{WorkPhase::kDecode};
  double of_profile{1};               ///< times as long as its profile says
  std::optional<double> of_siblings;  ///< as its siblings' median; nothing where none was seen enough
  std::size_t siblings{0};            ///< those of the same deployment it was compared with
  double observations{0};             ///< that count; old ones partly
  double spread{0};                   ///< of ln(measured / fitted) among them
};

/// Replicas that take at least 1.3 times as long as the median of their siblings (the same deployment), or,
/// without siblings, as their profile says, and beyond what chance explains: by more than three standard
/// errors, spread/√n, of the logarithm. At least five observations. A deployment whose replicas are all slow
/// alike has a wrong profile rather than a sick replica; each is then compared with the profile at twice its
/// time.
std::vector<SlowDown> slow_downs(const Fleet& fleet);

}  // namespace fareway
