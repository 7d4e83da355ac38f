#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "pricing/base/units.hpp"

namespace fareway {

/// Dollars of work a second, averaged over about 30 seconds with the latest counting most. While it is young
/// it averages over its age instead of taking the time before as idle.
class WorkRate {
 public:
  void add(Usd work, TimePoint now) {
    if (!since_) since_ = at_ = now;
    sum_ = sum_ * faded(now) + work.value;
    at_ = std::max(at_, now);
  }
  /// Dollars a second; 0 before anything was added.
  double per_second(TimePoint now) const {
    if (!since_) return 0;
    const double age = std::max(Seconds{now - *since_}.count(), kYoungest);
    return sum_ * faded(now) / (kWindow * (1 - std::exp(-age / kWindow)));
  }

 private:
  static constexpr double kWindow = 30;  // seconds
  static constexpr double kYoungest = 1;

  double faded(TimePoint now) const { return std::exp(-std::max(Seconds{now - at_}.count(), 0.0) / kWindow); }

  std::optional<TimePoint> since_;
  TimePoint at_{};
  double sum_{0};
};

}  // namespace fareway
