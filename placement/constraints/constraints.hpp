#pragma once

#include <cstdint>
#include <string_view>

#include "placement/fleet.hpp"
#include "placement/request_shape.hpp"

namespace fareway {

/// Hard constraints, yes or no, that no number of dollars can buy; in the order they are checked: the
/// request's own first, the fleet's state last, so that the reason given is the most lasting one. Of several
/// that fail the lowest counts.
enum class Violation : std::uint32_t {
  kTenant,        ///< the tenant may not use the model
  kRegion,        ///< its pool lies outside the tenant's regions
  kPriceCeiling,  ///< a device-hour costs more than the tenant allows
  kRule,          ///< an operator's rule keeps such requests out of the pool
  kFormat,        ///< the device would misread the checkpoint's numbers
  kContext,       ///< prompt and answer exceed the engine's limit
  kHealth,        ///< out of rotation
  kDraining,      ///< an operator wants it empty
  kAsleep,        ///< the engine has put its weights away
  kRuleCap,       ///< as many requests as a rule allows are in flight there
  kFailedBefore,  ///< it already failed this request
  kAbsent,        ///< no replica at all: fills up a tile
  kNone
};

/// What stands in decisions, metrics and error texts; empty for kNone.
std::string_view to_string(Violation violation);
/// The request can never be served there, however the fleet's health changes.
bool permanent(std::string_view violation);

// A constraint depends on the request and the pool, on the request and the engine's limit, or on the replica
// alone. What does not depend on the request is worked out when the replica changes, not when somebody asks.

/// False: no pool is excluded for this tenant, so nobody needs to ask pool by pool.
bool restricted(const RequestShape& request, const Fleet& fleet);
Violation violated_by_pool(const RequestShape& request, const Fleet& fleet, PoolIndex pool);
Violation violated_by_context(const RequestShape& request, const Deployment& deployment);
Violation violated_by_replica(const Fleet& fleet, const Replica& replica);

/// The first of all that fails.
Violation first_violated(const RequestShape& request, const Fleet& fleet, const Replica& replica);

}  // namespace fareway
