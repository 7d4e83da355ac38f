#pragma once

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

 private:
  std::vector<std::vector<PriceStep>> schedules_;
};

}  // namespace fareway
