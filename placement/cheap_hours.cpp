#include "placement/cheap_hours.hpp"

#include <cmath>
#include <limits>

namespace fareway {
namespace {

constexpr double kInNinetyNineOfHundred = 2.33;  // Φ⁻¹(0.99)
constexpr double kSameDollars = 1e-12;

WallTime::duration to_wall(Seconds time) {
  return std::chrono::duration_cast<WallTime::duration>(time);
}

Usd dollars_of(const ServingOffer& offer, const PriceBook& prices, WallTime start) {
  if (!offer.releasable) return {};
  const UsdPerHour price = prices.mean_price(offer.pool, start, start + to_wall(offer.stay));
  return UsdPerHour{price.value * offer.devices} * offer.added_work;
}

}  // namespace

PlannedStart cheapest_start(std::span<const ServingOffer> offers, const PriceBook& prices, WallTime now,
                            WallTime deadline, double spread) {
  const double stretch = std::exp(kInNinetyNineOfHundred * spread);
  // What could start at `start` and end in time; of `now` all, since nothing is gained by not starting.
  const auto least_dollars = [&](WallTime start) {
    Usd least{std::numeric_limits<double>::infinity()};
    for (const ServingOffer& offer : offers) {
      if (start > now && Seconds{deadline - start} < offer.stay * stretch) continue;
      least = std::min(least, dollars_of(offer, prices, start));
    }
    return least;
  };
  const Usd at_once = least_dollars(now);
  PlannedStart best{.start = now, .dollars = at_once, .dollars_now = at_once};
  if (offers.empty()) return {.start = now, .dollars = {}, .dollars_now = {}};
  for (const ServingOffer& offer : offers) {
    for (const PriceStep& step : prices.steps(offer.pool)) {
      if (step.from <= now || step.from >= deadline) continue;
      const Usd then = least_dollars(step.from);
      const bool cheaper = then.value < best.dollars.value - kSameDollars;
      const bool as_cheap_and_earlier =
          best.start > now && step.from < best.start && then.value <= best.dollars.value + kSameDollars;
      if (cheaper || as_cheap_and_earlier)
        best = {.start = step.from, .dollars = then, .dollars_now = at_once};
    }
  }
  return best;
}

}  // namespace fareway
