#include "placement/speed/speed_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "placement/catalogue/calibrations.hpp"

namespace fareway {
namespace {

std::string fit_text(const CalibrationEntry& entry, const Placement& placement) {
  const std::string points = std::to_string(entry.tpot.points) + " points of ";
  if (entry.model.empty()) return "fit to all measured models of " + std::string{entry.device};
  std::string text = "fit to " + points + std::string{entry.model} + " " +
                     std::string{to_string(placement.format)} + " on " + std::string{entry.device} + ", " +
                     std::string{entry.engine};
  if (!entry.era.empty()) text += " of " + std::string{entry.era};
  return text + " (" + std::string{entry.source} + ")";
}

void use_entry(const CalibrationEntry& entry, const Placement& placement, SpeedEstimate& estimate) {
  estimate.calibration = entry.calibration;
  estimate.longest_context = entry.longest_context;
  estimate.most_concurrency = entry.most_concurrency;
  estimate.format_in_points = !entry.model.empty();
  estimate.basis = {.tier = SpeedTier::kCalibrated,
                    .tpot_error = entry.tpot.median,
                    .tpot_error_p90 = entry.tpot.p90,
                    .text = fit_text(entry, placement)};
}

constexpr std::size_t kFewestPoints = 6;  // whose TTFTs make them more rows than the seven multipliers

void fit_to_points(const MeasuredDeployment& measured, SpeedEstimate& estimate) {
  std::vector<Observation> observations;
  observations.reserve(measured.points.size());
  for (const MeasuredPoint& point : measured.points) {
    observations.push_back({.terms = estimate.terms,
                            .load = {.input_tokens = point.input_tokens,
                                     .output_tokens = point.output_tokens,
                                     .concurrency = point.concurrency},
                            .tpot = point.tpot,
                            .ttft = point.ttft});
  }
  RelativeError error = relative_error(tpot_errors(observations, estimate.calibration));
  if (observations.size() >= kFewestPoints) {
    // So few points are nearly met by as many multipliers: what the fit says of a point it has not seen
    // tells.
    error = hold_out(observations, observations.size()).tpot;
    estimate.calibration = fit_calibration(observations);
    estimate.profile = calibrated_profile(estimate.terms, estimate.calibration);
    estimate.first_token = Seconds{estimate.calibration.first_token};
  }
  estimate.basis.tpot_error = error.median;
  estimate.basis.tpot_error_p90 = error.p90;
}

void scale_step(double factor, SpeedProfile& profile) {
  for (double* coefficient :
       {&profile.step_floor, &profile.expert_weights, &profile.per_sequence, &profile.per_context_token})
    *coefficient *= factor;
}

std::string measurement_text(const MeasuredDeployment& measured) {
  std::string text = "this deployment";
  if (!measured.software.empty()) text += ", " + std::string{measured.software};
  if (!measured.date.empty()) text += ", " + std::string{measured.date};
  return text + " (" + std::string{measured.source} + ")";
}

SpeedEstimate from_fits(const Placement& placement) {
  SpeedEstimate estimate{.terms = roofline_terms(placement)};
  const Device& device = placement.device;
  const CalibrationEntry* entry = find_calibration(device.name, placement.model.name, placement.format);
  if (entry == nullptr) entry = find_pooled_calibration(device.name);
  if (entry != nullptr) {
    use_entry(*entry, placement, estimate);
  } else {
    const RelativeError error = data_sheet_error();
    estimate.calibration = data_sheet_calibration(device);
    estimate.basis = {.tier = SpeedTier::kDataSheet,
                      .tpot_error = error.median,
                      .tpot_error_p90 = error.p90,
                      .text = "data sheet and kernel efficiencies of " + device.name};
  }
  estimate.first_token = Seconds{estimate.calibration.first_token};
  estimate.profile = calibrated_profile(estimate.terms, estimate.calibration);
  return estimate;
}

}  // namespace

void use_stream_and_aggregate(double stream, double aggregate, SpeedProfile& profile) {
  profile.per_sequence = 1 / aggregate;
  profile.expert_weights = 0;
  profile.step_floor = std::max(0.0, 1 / stream - 1 / aggregate);
}

SpeedEstimate estimate_speed(const Placement& placement) {
  SpeedEstimate estimate = from_fits(placement);
  const MeasuredDeployment* measured =
      find_measurement(placement.model.name, placement.device.name, placement.parallelism, placement.format);
  return measured == nullptr ? estimate : estimate_from(*measured, std::move(estimate));
}

SpeedEstimate estimate_from(const MeasuredDeployment& measured, SpeedEstimate estimate) {
  SpeedProfile& profile = estimate.profile;
  estimate.measured = &measured;
  estimate.format_in_points = true;
  estimate.basis = {.tier = SpeedTier::kMeasured, .text = measurement_text(measured)};
  if (!measured.points.empty()) fit_to_points(measured, estimate);
  if (measured.stream && measured.aggregate) {
    use_stream_and_aggregate(measured.stream->value, measured.aggregate->value, profile);
  } else if (measured.stream) {
    scale_step(1 / measured.stream->value / profile.step(1, 0).count(), profile);
  }
  if (measured.prefill) {
    const double factor = measured.prefill->time / profile.prefill(measured.prefill->tokens, 0);
    profile.per_prompt_token *= factor;
    profile.per_prompt_pair *= factor;
    estimate.first_token = Seconds{0};  // within what was measured
  }
  return estimate;
}

StepParts step_parts(const SpeedEstimate& estimate, double sequences, double context) {
  const RooflineTerms& terms = estimate.terms;
  const Calibration& calibration = estimate.calibration;
  const double hit = 1 - std::pow(1 - std::min(terms.expert_share, 1.0), sequences);
  const StepParts parts{
      .weights = Seconds{calibration.weights * (terms.fixed_weights + hit * terms.routed_weights)},
      .kv = Seconds{calibration.kv * (terms.context_token * context + terms.sequence_state * sequences)},
      .collectives =
          Seconds{calibration.collectives * (terms.collective_latency + terms.collective_token * sequences)},
      .compute = Seconds{calibration.compute * terms.token_compute * sequences},
      .overhead =
          Seconds{calibration.layer_overhead * terms.layers + calibration.sequence_overhead * sequences}};
  const double scale = estimate.profile.step(sequences, context) / parts.total();
  return {.weights = scale * parts.weights,
          .kv = scale * parts.kv,
          .collectives = scale * parts.collectives,
          .compute = scale * parts.compute,
          .overhead = scale * parts.overhead};
}

PredictionErrors initial_errors(const SpeedBasis& basis) {
  constexpr double kWithin90Percent = 1.645;
  constexpr double kWidest = 0.8;  // what learning keeps a spread below
  PredictionErrors errors;
  if (!basis.tpot_error_p90) return errors;
  const double p90 = std::min(*basis.tpot_error_p90, 0.9);
  const double log_error = std::max(std::log1p(p90), -std::log1p(-p90));
  for (Spread& spread : errors.by_kind) {
    spread.tpot = std::clamp(log_error / kWithin90Percent, spread.tpot, kWidest);
    spread.ttft = std::max(spread.ttft, spread.tpot);
  }
  return errors;
}

}  // namespace fareway
