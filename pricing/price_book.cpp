#include "pricing/price_book.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace fareway {

PriceBook::PriceBook(std::vector<std::vector<PriceStep>> schedules) : schedules_(std::move(schedules)) {
  for ([[maybe_unused]] const auto& steps : schedules_) {
    assert(!steps.empty());
    assert(std::is_sorted(steps.begin(), steps.end(),
                          [](const PriceStep& a, const PriceStep& b) { return a.from < b.from; }));
  }
}

NanoUsdPerHour PriceBook::price(PoolIndex pool, WallTime now) const {
  const auto& steps = schedules_.at(pool.value);
  const auto after = std::upper_bound(steps.begin(), steps.end(), now,
                                      [](WallTime time, const PriceStep& step) { return time < step.from; });
  return after == steps.begin() ? steps.front().per_device_hour : std::prev(after)->per_device_hour;
}

UsdPerHour PriceBook::mean_price(PoolIndex pool, WallTime from, WallTime until) const {
  if (until <= from) return to_usd_per_hour(price(pool, from));
  double dollars_seconds = 0;
  WallTime at = from;
  const auto add_until = [&](WallTime end) {
    dollars_seconds += to_usd_per_hour(price(pool, at)).value * Seconds{end - at}.count();
    at = end;
  };
  for (const PriceStep& step : steps(pool))
    if (step.from > at && step.from < until) add_until(step.from);
  add_until(until);
  return {dollars_seconds / Seconds{until - from}.count()};
}

}  // namespace fareway
