#include "placement/model/speed.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {
Seconds SpeedProfile::mixed_step(double sequences, double context_tokens, double prompt_tokens) const {
  const double hit = 1 - std::pow(1 - std::min(expert_share, 1.0), sequences + prompt_tokens);
  return Seconds{step_floor + expert_weights * hit + per_sequence * sequences +
                 per_context_token * context_tokens};
}

Seconds SpeedProfile::prefill(double uncached, double cached) const {
  return Seconds{per_prompt_token * uncached + per_prompt_pair * uncached * (cached + uncached / 2)};
}

SpeedProfile SpeedProfile::slowed(double factor) const {
  SpeedProfile slower = *this;
  slower.step_floor *= factor;
  slower.expert_weights *= factor;
  slower.per_sequence *= factor;
  slower.per_prompt_token *= factor;
  return slower;
}

Seconds SpeedProfile::added_work(double uncached, double cached, double output) const {
  const double mean_context = uncached + cached + output / 2;
  return prefill(uncached, cached) + Seconds{output * (per_sequence + per_context_token * mean_context)};
}

std::string_view to_string(SpeedTier tier) {
  switch (tier) {
    case SpeedTier::kMeasured:
      return "measured";
    case SpeedTier::kCalibrated:
      return "calibrated";
    case SpeedTier::kDataSheet:
      return "data sheet";
  }
  return "unknown";
}

}  // namespace fareway
