#pragma once

#include <functional>
#include <vector>

#include "placement/simulation/simulation.hpp"

namespace fareway::simulation {

/// One point of an attainment curve.
struct LoadPoint {
  double rate{};  ///< requests a second that arrive
  Outcome outcome;
};

/// The highest rate at which at least `target` of all requests meet their objectives.
struct Goodput {
  LoadPoint best;                 ///< rate 0 where no rate meets the target
  std::vector<LoadPoint> points;  ///< every rate that was tried, ascending
};

struct GoodputSearch {
  double target{0.99};
  double first_rate{10};   ///< where the search begins; only the time it takes depends on it
  double precision{0.01};  ///< relative, of the rate
  double lowest_rate{0.05};
};

/// Raises or lowers the rate in strides until the target lies between two tries, then bisects in the
/// logarithm.
/// Attainment is not always monotonic; what is found is a rate that holds with one above it, by `precision`,
/// that does not.
Goodput find_goodput(const GoodputSearch& search, const std::function<Outcome(double rate)>& run);

}  // namespace fareway::simulation
