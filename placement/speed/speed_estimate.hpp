#pragma once

#include "placement/catalogue/measurements.hpp"
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
  const MeasuredDeployment* measured{};  ///< null on every other tier
};
SpeedEstimate estimate_speed(const Placement& placement);

/// `estimate` brought to what was measured. Six points and more: the seven multipliers are fitted to them,
/// and the error stated is that of each point by a fit to the others. Fewer: the estimate stands for what
/// lies between and beyond. A single stream and an aggregate without their load: the step that yields the one
/// alone and never more than the other,
///     step(b) = 1/stream − 1/aggregate + b/aggregate,
/// with the estimate's cost of context, the stream's own being unknown and taken as short. A stream alone
/// scales the estimate's step, a cold prefill its prefill.
SpeedEstimate estimate_from(const MeasuredDeployment& measured, SpeedEstimate estimate);

/// The step that yields a single stream of `stream` tok/s and never more than `aggregate` of all.
void use_stream_and_aggregate(double stream, double aggregate, SpeedProfile& profile);

/// What a step of `sequences` that hold `context` tokens together spends its time on: the terms of the
/// roofline, in proportion where measurements say the step as a whole. The parts sum to the profile's step.
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
