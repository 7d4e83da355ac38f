#include "placement/speed/frontier.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

namespace fareway {

Frontier::Frontier(std::vector<OperatingPoint> points) {
  std::ranges::sort(points, std::ranges::greater{}, [](const OperatingPoint& point) {
    return std::tuple(point.interactivity, point.throughput);
  });
  for (const OperatingPoint& point : points)
    if (points_.empty() || point.throughput > points_.back().throughput) points_.push_back(point);
  std::ranges::reverse(points_);
}

std::optional<OperatingPoint> Frontier::at(double interactivity) const {
  const auto faster = std::ranges::lower_bound(points_, interactivity, {}, &OperatingPoint::interactivity);
  if (faster == points_.end()) return std::nullopt;
  if (faster == points_.begin() || faster->interactivity == interactivity) return *faster;
  const OperatingPoint& slower = *std::prev(faster);
  const double share =
      (interactivity - slower.interactivity) / (faster->interactivity - slower.interactivity);
  return OperatingPoint{.interactivity = interactivity,
                        .throughput = std::lerp(slower.throughput, faster->throughput, share),
                        .extrapolated = slower.extrapolated || faster->extrapolated};
}

}  // namespace fareway
