#pragma once

#include <cstdint>
#include <span>

#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"
#include "pricing/price_book.hpp"

namespace fareway {

/// One way to serve a request that may wait: a pool, and what the request would take there.
struct ServingOffer {
  PoolIndex pool;
  std::uint32_t devices{1};
  bool releasable{true};  ///< reserved capacity costs the decision nothing at any hour
  Seconds added_work{};   ///< GPU seconds it adds to one replica
  Seconds stay{};         ///< start to last token
};

struct PlannedStart {
  WallTime start;   ///< `now` where waiting saves nothing, or nothing can be waited for
  Usd dollars;      ///< marginal GPU dollars when started then
  Usd dollars_now;  ///< and when started at once
};

/// When to start a request that only has a deadline, so that its GPU seconds fall into cheap hours: the
/// earliest of the starts with the least marginal dollars. Prices change at known instants, so only `now` and
/// those are tried. A start is late enough if the stay, stretched by what predictions of it may be wrong,
/// still ends by the deadline:
///     start + stay · e^(2.33 · spread) ≤ deadline,    2.33 = Φ⁻¹(0.99)
/// Dollars: devices × mean price over the stay × added work. `spread`: of ln(stay). Pure;
/// O(offers × price steps²).
PlannedStart cheapest_start(std::span<const ServingOffer> offers, const PriceBook& prices, WallTime now,
                            WallTime deadline, double spread);

}  // namespace fareway
