#pragma once

#include <cstddef>

#include "placement/estimates/least_squares.hpp"
#include "placement/model/speed.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// How one phase of a replica's work compares with its profile: the fitted factor at what it lately did, and
/// how much that rests on.
struct SpeedFactor {
  double factor{1};  ///< measured ÷ profile; 2 takes twice as long
  double seen{0};    ///< observations that count, old ones partly
  double spread{0};  ///< of ln(measured / corrected) lately
};

/// What a replica's measured times say of its profile: a multiplier for each coefficient of D(b, K) and P(n,
/// h), fitted recursively:
///
///     measured step / D = m₀·(c0 + c1·hit)/D + m₁·c2·b/D + m₂·c3·K/D
///     measured prefill / P = m₃·c4·n/P + m₄·c5·(n·h + n²/2)/P
///
/// Observations are ratios, so that long steps weigh no more than short ones. Before anything is known of a
/// multiplier it moves with the others of its phase (their variance is mostly shared), so a throttled device
/// is priced as slow at every batch size at once. Old observations fade by 2 % with each new one. Three in a
/// row that are off by more than 2.5 spreads to one side mean that something changed: what was learned is
/// doubted, and the next observation counts in full. Multipliers stay within 1/16 to 16. Not thread-safe.
class SpeedCorrection {
 public:
  SpeedCorrection();

  /// One decode step took `measured` at batch `sequences` and `context` tokens, with nobody's prefill in it.
  void saw_step(const SpeedProfile& profile, double sequences, double context, Seconds measured);
  /// Prompts of `tokens` uncached tokens and `pairs` = Σ n·h + n²/2 took `measured`, with nobody's decoding
  /// in it.
  void saw_prefill(const SpeedProfile& profile, double tokens, double pairs, Seconds measured);
  /// The engine was restarted or is another version: old observations count little from here on.
  void doubt();

  /// The profile with its coefficients multiplied.
  SpeedProfile applied_to(const SpeedProfile& profile) const;
  SpeedFactor decode() const;
  SpeedFactor prefill() const;

 private:
  template <std::size_t N>
  class Phase {
   public:
    using Fit = LeastSquares<N>;
    Phase();
    void saw(const typename Fit::Vector& shares, double ratio);
    void doubt();
    const typename Fit::Vector& multipliers() const { return fit_.weights(); }
    SpeedFactor summary() const;

   private:
    Fit fit_;
    typename Fit::Vector usual_shares_{};  // moving average: where the replica lately works
    double seen_{0};
    double squared_error_;
    int in_a_row_{0};  // large errors to one side; negative: faster than fitted
  };

  Phase<3> decode_;
  Phase<2> prefill_;
};

}  // namespace fareway
