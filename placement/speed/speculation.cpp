#include "placement/speed/speculation.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {

SpeedProfile with_speculation(const SpeedProfile& profile, const Speculation& speculation) {
  SpeedProfile faster = profile;
  const double accepted = speculation.accepted;
  faster.step_floor = profile.step_floor * (1 + speculation.draft_share) / accepted;
  faster.expert_weights = profile.expert_weights / accepted;
  faster.expert_share = 1 - std::pow(1 - std::min(profile.expert_share, 1.0), speculation.drafted + 1);
  faster.per_sequence = (profile.per_sequence + speculation.drafted * profile.per_prompt_token) / accepted;
  faster.per_context_token = profile.per_context_token / accepted;
  return faster;
}

}  // namespace fareway
