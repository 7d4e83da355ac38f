#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "pricing/base/units.hpp"

namespace fareway {

/// What is believed of answer lengths before any was seen, and beyond the longest seen: exponential, so that
/// what remains does not depend on what was seen. `answers`: how many seen ones it weighs as much as.
struct LengthPrior {
  double mean{256};
  double answers{8};
};

/// Distribution of answer lengths in tokens, with forgetting: buckets in powers of 1.1, so that quantiles are
/// right to ±5 % as in DDSketch (Masson, Rim, Lee, VLDB 2019), and old answers fade by 0.2 % with each new
/// one (about the last 500 count). Boost.Accumulators' P² neither forgets nor gives tails beyond a quantile
/// chosen beforehand. 600 bytes, no allocation; not thread-safe.
class LengthSketch {
 public:
  void add(Tokens length);

  /// Answers that count now, the faded ones partly.
  double answers() const { return total_ / weight_; }
  /// Least length that at least a share `q` of answers does not exceed; 0 before the first.
  double quantile(double q) const;
  /// Mean of min(length, limit), seen and believed together.
  double mean(const LengthPrior& prior, std::optional<Tokens> limit = {}) const;
  /// Mean residual life: tokens still to come of an answer of which `seen` came, at least 1. With long tails
  /// it grows with what was seen: who has talked for an hour will not stop within the minute.
  double remaining(double seen, const LengthPrior& prior) const;
  /// Standard deviation of ln(length); an exponential's, 1.28, before the first.
  double log_spread() const;

 private:
  static constexpr std::size_t kBuckets = 160;  // 1.1^160 is 4.2 million tokens
  static std::size_t bucket_of(double length);
  static double length_of(std::size_t bucket);

  std::array<float, kBuckets> count_{};
  double total_{0};
  double weight_{1};  // of the next answer; grows instead of letting all others shrink
};

}  // namespace fareway
