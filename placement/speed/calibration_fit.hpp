#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "placement/speed/closed_loop.hpp"
#include "placement/speed/roofline.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// One row of a serving benchmark, with the terms of what it ran on.
struct Observation {
  RooflineTerms terms;
  ClosedLoop load;
  Seconds tpot{};               ///< median over requests
  std::optional<Seconds> ttft;  ///< median; tells of prefill only where few requests wait for each other
  double weight{1};             ///< of its squared relative error
};

/// The calibration that minimises the squared relative errors of TPOT under load, and of TTFT at
/// `kQuietConcurrency` and below, TTFT counting half: it says most about prefill but is noisier.
///
/// Floors keep the fit physical where the rows cannot tell terms apart: nothing computes faster than its
/// peak; weights and KV are read at no less than half the counted bytes (skewed routing picks fewer experts;
/// an FP8 cache halves what a bf16 one would be).
Calibration fit_calibration(std::span<const Observation> observations);

constexpr double kQuietConcurrency = 4;

/// Median and 90th percentile of |predicted ÷ measured − 1|.
struct RelativeError {
  double median{};
  double p90{};
  std::size_t points{};
};
RelativeError relative_error(std::vector<double> errors);

std::vector<double> tpot_errors(std::span<const Observation> observations, const Calibration& calibration);
std::vector<double> ttft_errors(std::span<const Observation> observations, const Calibration& calibration);

/// Leaves out every `parts`-th observation, fits the others and predicts those left out, for each part in
/// turn. Every measured point is predicted once, by a fit that has not seen it. Two parts are two halves, as
/// many parts as observations leave out one at a time. Sort the observations first so that each part covers
/// the range.
struct HoldOut {
  RelativeError tpot;
  RelativeError ttft;
};
HoldOut hold_out(std::span<const Observation> observations, std::size_t parts = 2);

}  // namespace fareway
