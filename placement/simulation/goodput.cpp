#include "placement/simulation/goodput.hpp"

#include <algorithm>
#include <cmath>

namespace fareway::simulation {

Goodput find_goodput(const GoodputSearch& search, const std::function<Outcome(double rate)>& run) {
  constexpr double kStride = 1.3;
  Goodput result;
  const auto holds = [&](double rate) {
    const Outcome outcome = run(rate);
    const bool met = outcome.attainment() >= search.target;
    if (met && rate > result.best.rate) result.best = {rate, outcome};
    result.points.push_back({rate, outcome});
    return met;
  };

  double low = search.first_rate;
  double high = search.first_rate;
  if (holds(low)) {
    for (high = low * kStride; holds(high); high *= kStride) low = high;
  } else {
    for (low = high / kStride; low > search.lowest_rate && !holds(low); low /= kStride) high = low;
  }
  while (low > search.lowest_rate && high / low > 1 + search.precision) {
    const double middle = std::sqrt(low * high);
    (holds(middle) ? low : high) = middle;
  }
  std::ranges::sort(result.points, {}, &LoadPoint::rate);
  return result;
}

}  // namespace fareway::simulation
