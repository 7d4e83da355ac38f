#include "placement/speed/calibration_fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "placement/speed/least_squares.hpp"

namespace fareway {
namespace {

constexpr double kTtftWeight = 0.5;

Coefficients as_coefficients(const Calibration& calibration) {
  return {
      calibration.weights,           calibration.kv,      calibration.collectives, calibration.layer_overhead,
      calibration.sequence_overhead, calibration.compute, calibration.first_token};
}

Calibration as_calibration(const Coefficients& x) {
  return {.weights = x[0],
          .kv = x[1],
          .collectives = x[2],
          .layer_overhead = x[3],
          .sequence_overhead = x[4],
          .compute = x[5],
          .first_token = x[6]};
}

constexpr Calibration kFloor{.weights = 0.5, .kv = 0.5, .collectives = 0, .compute = 1};

/// Every prediction is linear in the calibration: its coefficient of each unknown is the prediction with that
/// unknown at one and the others at zero.
template <class Prediction>
Coefficients linear_in_calibration(const Prediction& prediction) {
  Coefficients coefficients{};
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    Coefficients unit{};
    unit[i] = 1;
    coefficients[i] = prediction(as_calibration(unit)).count();
  }
  return coefficients;
}

LeastSquaresRow relative_row(Coefficients coefficients, Seconds measured, double weight) {
  const double root = std::sqrt(weight);
  for (double& coefficient : coefficients) coefficient *= root / measured.count();
  return {.coefficients = coefficients, .target = root};
}

/// The TTFT where no queue is in it.
std::optional<Seconds> quiet_ttft(const Observation& observation) {
  return observation.load.concurrency <= kQuietConcurrency ? observation.ttft : std::nullopt;
}

Seconds predicted_tpot(const Observation& observation, const Calibration& calibration) {
  return loaded_tpot(calibrated_profile(observation.terms, calibration), observation.load);
}

Seconds predicted_ttft(const Observation& observation, const Calibration& calibration) {
  return cold_ttft(calibrated_profile(observation.terms, calibration), Seconds{calibration.first_token},
                   observation.load.input_tokens);
}

}  // namespace

Calibration fit_calibration(std::span<const Observation> observations) {
  std::vector<LeastSquaresRow> rows;
  rows.reserve(2 * observations.size());
  for (const Observation& observation : observations) {
    const auto tpot = [&](const Calibration& unit) { return predicted_tpot(observation, unit); };
    rows.push_back(relative_row(linear_in_calibration(tpot), observation.tpot, observation.weight));
    const std::optional<Seconds> measured = quiet_ttft(observation);
    if (!measured) continue;
    const auto ttft = [&](const Calibration& unit) { return predicted_ttft(observation, unit); };
    rows.push_back(
        relative_row(linear_in_calibration(ttft), *measured, kTtftWeight * kTtftWeight * observation.weight));
  }
  return as_calibration(bounded_least_squares(rows, as_coefficients(kFloor)));
}

RelativeError relative_error(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::ranges::sort(errors);
  const auto quantile = [&](double share) {
    return errors[static_cast<std::size_t>(std::lround(share * static_cast<double>(errors.size() - 1)))];
  };
  return {.median = quantile(0.5), .p90 = quantile(0.9), .points = errors.size()};
}

std::vector<double> tpot_errors(std::span<const Observation> observations, const Calibration& calibration) {
  std::vector<double> errors;
  for (const Observation& observation : observations)
    errors.push_back(std::abs(predicted_tpot(observation, calibration) / observation.tpot - 1));
  return errors;
}

std::vector<double> ttft_errors(std::span<const Observation> observations, const Calibration& calibration) {
  std::vector<double> errors;
  for (const Observation& observation : observations)
    if (const auto measured = quiet_ttft(observation))
      errors.push_back(std::abs(predicted_ttft(observation, calibration) / *measured - 1));
  return errors;
}

HoldOut hold_out(std::span<const Observation> observations, std::size_t parts) {
  std::vector<double> tpot;
  std::vector<double> ttft;
  for (std::size_t held_part = 0; held_part < parts; ++held_part) {
    std::vector<Observation> fitted;
    std::vector<Observation> held;
    for (std::size_t i = 0; i < observations.size(); ++i)
      (i % parts == held_part ? held : fitted).push_back(observations[i]);
    const Calibration calibration = fit_calibration(fitted);
    std::ranges::copy(tpot_errors(held, calibration), std::back_inserter(tpot));
    std::ranges::copy(ttft_errors(held, calibration), std::back_inserter(ttft));
  }
  return {.tpot = relative_error(std::move(tpot)), .ttft = relative_error(std::move(ttft))};
}

}  // namespace fareway
