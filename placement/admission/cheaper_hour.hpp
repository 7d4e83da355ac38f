#pragma once

#include <optional>

#include "placement/decision.hpp"
#include "placement/fleet.hpp"
#include "placement/request_shape.hpp"
#include "pricing/price_book.hpp"

namespace fareway {

/// How long to hold the request so that its GPU seconds fall into a cheaper hour, by `cheapest_start` over
/// the decision's feasible candidates; nothing where it had better go now. Only what has a deadline and no
/// TTFT target is ever held: nobody looks at its first token.
std::optional<Seconds> hold_for_cheaper_hour(const Decision& decision, const RequestShape& shape,
                                             const Fleet& fleet, const PriceBook& prices, WallTime now);

}  // namespace fareway
