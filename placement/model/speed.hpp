#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pricing/base/units.hpp"

namespace fareway {

/// How fast a deployment is, as coefficients of one engine step (seconds):
///     step(b, K)    = c0 + c1·hit(b) + c2·b + c3·K      b decoding sequences that hold K tokens of context
///     hit(b)        = 1 − (1 − k/E)^b                   share of the experts read; 1 for dense models
///     prefill(n, h) = c4·n + c5·(n·h + n²/2)            n uncached tokens after h cached ones
struct SpeedProfile {
  double step_floor{};         ///< c0: weights every step reads, launch overhead, collectives' latency
  double expert_weights{};     ///< c1: reading all routed experts
  double per_sequence{};       ///< c2
  double per_context_token{};  ///< c3
  double per_prompt_token{};   ///< c4
  double per_prompt_pair{};    ///< c5
  double expert_share{1.0};    ///< k/E

  Seconds step(double sequences, double context_tokens) const {
    return mixed_step(sequences, context_tokens, 0);
  }
  /// A step that also processes `prompt_tokens` of prefill, without that prefill's own time: they too pick
  /// experts.
  Seconds mixed_step(double sequences, double context_tokens, double prompt_tokens) const;
  Seconds prefill(double uncached, double cached) const;
  /// The same deployment where everything that touches the weights takes `factor` times as long (an emulated
  /// number format). Launches and collectives stand in `step_floor` too and are slowed with it: a little too
  /// much.
  SpeedProfile slowed(double factor) const;
  /// Seconds of work one more sequence adds: its prefill, and what each of its tokens adds to a step.
  Seconds added_work(double uncached, double cached, double output) const;
};

/// What a speed rests on, best first.
enum class SpeedTier {
  kMeasured,    ///< points measured on this very deployment
  kCalibrated,  ///< roofline with multipliers fitted to measured points
  kDataSheet    ///< roofline with kernel efficiencies: no objective can be promised on it
};
std::string_view to_string(SpeedTier tier);

/// How far to trust a speed.
struct SpeedBasis {
  SpeedTier tier{SpeedTier::kDataSheet};
  std::optional<double> tpot_error;      ///< median |predicted / measured - 1| of points not fitted to
  std::optional<double> tpot_error_p90;  ///< its 90th percentile
  std::string text;                      ///< for people: which points, whose, from when
};

}  // namespace fareway
