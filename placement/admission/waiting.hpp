#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "placement/decision.hpp"
#include "placement/fleet.hpp"
#include "placement/request_shape.hpp"

namespace fareway {

/// A request that waits to be placed, as the queue sees it.
struct Waiting {
  std::uint64_t id{};  ///< the caller's; no two that wait have the same
  ModelIndex model;
  ClassIndex service_class;
  TenantIndex tenant;
  std::size_t bytes{};  ///< of memory it holds while it waits
  Usd work;             ///< GPU time it is going to take, in dollars; what tenants' shares are counted in
  TimePoint arrived;
  /// Begun later it would miss its objective even on an idle replica that turns out faster than predicted.
  TimePoint in_time_until;
  TimePoint gives_up;      ///< then it is refused
  TimePoint not_before{};  ///< held until then for a cheaper hour
  /// Dollars of misses it brings even on an idle replica: no waiting saves them.
  Usd unavoidable;
};

/// What is expected of the request on the best idle replica of its model: how long it can wait, and what it
/// will take. `patience`: how long it may wait at most; a class with a deadline may wait until that. Work is
/// priced at the group rate, reserved capacity too, since shares are of what the fleet costs; where capacity
/// costs nothing, a nominal rate keeps shares in proportion to time. O(replicas).
Waiting waiting_of(const RequestShape& shape, const Fleet& fleet, TimePoint arrived, Seconds patience);

/// Dollars of `added` seconds of the replica's time, as `waiting_of` prices them.
Usd work_of(const Fleet& fleet, const Replica& replica, Seconds added);
/// The little there is to know of a request that was placed without waiting.
Waiting placed_at_once(const RequestShape& shape, const Candidate& chosen, const Fleet& fleet);

/// How a request stands towards being placed right now.
enum class Standing {
  kFits,    ///< placing it gains more than the misses it makes
  kWaits,   ///< the fleet is up, but its chance is better later, or others would lose more than it gains
  kNobody,  ///< no replica can take it now; one may later
};

/// Where placing a request brings misses, it waits if they exceed four fifths of what placing it in time can
/// gain:
///     own + others' − unavoidable  >  0.8 · (V − unavoidable)
/// Less than all, since a slot given away for hardly any gain would probably have served somebody better. One
/// that is too late in any case, or would probably miss even on an idle replica, goes where others lose 0.3 V
/// at most by it. A class that pays by the second never waits for a free slot: what never being served is
/// worth, nobody said.
Standing standing_of(const Choice& choice, const Waiting& waiting, TimePoint now);

/// True for most requests, and then nothing else needs to be worked out: it brings hardly any misses.
bool fits_plainly(const Choice& choice);

}  // namespace fareway
