#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace fareway {

/// Recursive least squares with exponential forgetting on y ≈ weights · x, bounded in every respect: weights
/// stay within their limits and variances below theirs, so that directions nobody observes for long do not
/// wind up (Åström and Wittenmark, Adaptive Control, section 11.5). Constant memory, O(N²) a step, no
/// allocation; not thread-safe.
template <std::size_t N>
class LeastSquares {
 public:
  using Vector = std::array<double, N>;
  struct Options {
    double forget{0.995};       ///< weight that an observation keeps with each one after it
    Vector own_variance{};      ///< of each weight before the first observation, in units of the noise's
    double shared_variance{0};  ///< and of what all weights have in common
    Vector least{};
    Vector most{};
  };

  LeastSquares(const Vector& first, const Options& options) : options_(options), weights_(first) { doubt(); }

  const Vector& weights() const { return weights_; }
  double predict(const Vector& x) const {
    double sum = 0;
    for (std::size_t i = 0; i < N; ++i) sum += weights_[i] * x[i];
    return sum;
  }

  void learn(const Vector& x, double y) {
    const double innovation = y - predict(x);
    Vector projected{};  // P·x
    double scale = options_.forget;
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j < N; ++j) projected[i] += covariance_[i][j] * x[j];
      scale += x[i] * projected[i];
    }
    for (std::size_t i = 0; i < N; ++i) {
      weights_[i] =
          std::clamp(weights_[i] + projected[i] / scale * innovation, options_.least[i], options_.most[i]);
      for (std::size_t j = 0; j < N; ++j)
        covariance_[i][j] = (covariance_[i][j] - projected[i] * projected[j] / scale) / options_.forget;
    }
    bound_variances();
  }

  /// What was learned may no longer hold: keeps the weights, and lets the next observations move them as if
  /// they were the first.
  void doubt() {
    for (std::size_t i = 0; i < N; ++i)
      for (std::size_t j = 0; j < N; ++j)
        covariance_[i][j] = options_.shared_variance + (i == j ? options_.own_variance[i] : 0);
  }

 private:
  void bound_variances() {
    for (std::size_t i = 0; i < N; ++i) {
      const double most = kWindUp * (options_.shared_variance + options_.own_variance[i]);
      if (covariance_[i][i] <= most) continue;
      const double shrink = std::sqrt(most / covariance_[i][i]);
      for (std::size_t j = 0; j < N; ++j) {
        covariance_[i][j] *= shrink;
        covariance_[j][i] *= shrink;
      }
    }
  }

  static constexpr double kWindUp = 5;  // how far beyond its first value forgetting may take a variance

  Options options_;
  Vector weights_;
  std::array<Vector, N> covariance_{};
};

}  // namespace fareway
