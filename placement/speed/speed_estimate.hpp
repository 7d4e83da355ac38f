#pragma once

#include "placement/fleet.hpp"
#include "placement/model/speed.hpp"
#include "placement/speed/roofline.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// The speed of a deployment without having seen it, from the best that the catalogue has: a fit to points of
/// this device, model and format; else one to all models of the device; else the data sheet.
struct SpeedEstimate {
  SpeedProfile profile;
  Seconds first_token{};  ///< of every time to first token that the prompt does not explain
  SpeedBasis basis;
  RooflineTerms terms;
  Calibration calibration;
  double longest_context{};   ///< of the points behind it; 0 where there are none
  double most_concurrency{};  ///< the same
  bool format_in_points{};    ///< they are of this number format, so what its emulation costs is in the fit
};
SpeedEstimate estimate_speed(const Placement& placement);

/// What a step of `sequences` that hold `context` tokens together spends its time on. The parts sum to the
/// profile's step.
struct StepParts {
  Seconds weights{};
  Seconds kv{};  ///< sliding windows and recurrent state included
  Seconds collectives{};
  Seconds compute{};
  Seconds overhead{};
  Seconds total() const { return weights + kv + collectives + compute + overhead; }
};
StepParts step_parts(const SpeedEstimate& estimate, double sequences, double context);

/// The spread that a replica's predictions begin with. 90 % of normal log errors lie within 1.645 standard
/// deviations. Live loads are less even than benchmarks, and a spread below the truth sells misses: never
/// below the default.
PredictionErrors initial_errors(const SpeedBasis& basis);

}  // namespace fareway
