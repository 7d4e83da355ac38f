#pragma once

#include <span>
#include <vector>

#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// A device-hour price and the instant from which it holds.
struct PriceStep {
  WallTime from;
  NanoUsdPerHour per_device_hour;
};

/// $/device-hour by pool over time. Immutable; the pools are those of the fleet, in its order.
class PriceBook {
 public:
  /// One schedule a pool, each non-empty and in ascending order of `from`; asserts otherwise.
  explicit PriceBook(std::vector<std::vector<PriceStep>> schedules);

  /// The price that holds at `now`; before the first step, the first step's price.
  NanoUsdPerHour price(PoolIndex pool, WallTime now) const;
  /// Mean price over [from, until), in dollars because nobody is charged it; the price at `from` where that
  /// is empty.
  UsdPerHour mean_price(PoolIndex pool, WallTime from, WallTime until) const;
  std::span<const PriceStep> steps(PoolIndex pool) const { return schedules_.at(pool.value); }

 private:
  std::vector<std::vector<PriceStep>> schedules_;
};

}  // namespace fareway
