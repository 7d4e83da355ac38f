#include "placement/speed/speed_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

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

}  // namespace

SpeedEstimate estimate_speed(const Placement& placement) {
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

StepParts step_parts(const SpeedEstimate& estimate, double sequences, double context) {
  const RooflineTerms& terms = estimate.terms;
  const Calibration& calibration = estimate.calibration;
  const double hit = 1 - std::pow(1 - std::min(terms.expert_share, 1.0), sequences);
  return {.weights = Seconds{calibration.weights * (terms.fixed_weights + hit * terms.routed_weights)},
          .kv = Seconds{calibration.kv * (terms.context_token * context + terms.sequence_state * sequences)},
          .collectives = Seconds{calibration.collectives *
                                 (terms.collective_latency + terms.collective_token * sequences)},
          .compute = Seconds{calibration.compute * terms.token_compute * sequences},
          .overhead =
              Seconds{calibration.layer_overhead * terms.layers + calibration.sequence_overhead * sequences}};
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
