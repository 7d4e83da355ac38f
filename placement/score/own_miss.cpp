#include "placement/score/own_miss.hpp"

#include <cmath>

#include "placement/load.hpp"

namespace fareway {
namespace {

constexpr auto kOffset = static_cast<float>(kTtftOffset.count());

/// `probability` that one target or another is missed, with one more target.
float either(float probability, float other) {
  return probability + other - probability * other;
}

/// Adds what each second late is worth to `own_miss`.
void price_lateness(const CandidateTile& __restrict tile, const Ask& ask, TileScore& __restrict score) {
  const auto& certainty_of_ttft = tile.certainty_of_ttft[ask.kind.place];
  const auto& certainty_of_tpot = tile.certainty_of_tpot[ask.kind.place];
  const float log_output = lane_log(std::max(ask.output, 1.0F));
  FloatLanes late{};
  if (ask.log_ttft_target)
    for (std::size_t i = 0; i < kLanes; ++i)
      late[i] =
          lane_lateness(*ask.log_ttft_target, lane_log(score.ttft[i] + kOffset), 1 / certainty_of_ttft[i]);
  if (ask.log_tpot_target)
    for (std::size_t i = 0; i < kLanes; ++i)
      late[i] =
          std::max(late[i], lane_lateness(*ask.log_tpot_target + log_output,
                                          lane_log(score.tpot[i]) + log_output, 1 / certainty_of_tpot[i]));
  if (ask.log_deadline)
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float end_to_end = score.ttft[i] + score.tpot[i] * ask.output;
      const float certainty = std::min(certainty_of_ttft[i], certainty_of_tpot[i]);
      late[i] = std::max(late[i], lane_lateness(*ask.log_deadline, lane_log(end_to_end), 1 / certainty));
    }
  for (std::size_t i = 0; i < kLanes; ++i) score.own_miss[i] += ask.miss_usd_per_second * late[i];
}

}  // namespace

void predict(const CandidateTile& __restrict tile, const Ask& ask, TileScore& __restrict score) {
  const float prompt = ask.prompt;
  const float output = ask.output;
  const float now = ask.since_epoch;
  const float fade = ask.share_fade;
  for (std::size_t i = 0; i < kLanes; ++i) {
    const float cached = score.cached[i];
    const float uncached = prompt - cached;
    const float foreign_prompts = tile.foreign_waiting[i] * prompt;
    const float foreign_prefill =
        foreign_prompts * (tile.per_prompt_token[i] + tile.per_prompt_pair[i] * prompt / 2);
    const float ahead = std::max(tile.prefill_behind[i], tile.prefill_done[i] - now) + foreign_prefill;

    const float to_compute = tile.queued_uncached[i] + foreign_prompts + uncached;
    const float steps = std::ceil(to_compute / tile.chunk_room[i]);
    const float in_one_step = std::min(to_compute, tile.chunk_room[i]);
    const float mixed_step =
        tile.step[i] + tile.experts_left[i] * (1 - lane_exp(tile.log_experts_left[i] * in_one_step));

    const float seats_short = std::max(tile.seats_short[i], 0.0F);
    const float kv_short = std::max(foreign_prompts + prompt - tile.kv_tokens_free[i], 0.0F);
    const float remaining = tile.mean_remaining[i] < 0 ? output : tile.mean_remaining[i];
    const float wait =
        remaining * std::max(seats_short * tile.step_per_sequence[i], kv_short * tile.step_per_kv_token[i]);

    score.ttft[i] = tile.running_step[i] + ahead + steps * mixed_step + score.prefill[i] + wait;
    const float share = std::min(tile.prefill_share[i] * fade, kLargestPrefillShare);
    score.tpot[i] =
        (tile.next_step[i] + tile.per_context_token[i] * (foreign_prompts + prompt)) / (1 - share);
  }
}

void price_own_miss(const CandidateTile& __restrict tile, const Ask& ask, TileScore& __restrict score) {
  const auto& certainty_of_ttft = tile.certainty_of_ttft[ask.kind.place];
  const auto& certainty_of_tpot = tile.certainty_of_tpot[ask.kind.place];
  FloatLanes miss{};
  if (ask.log_ttft_target) {
    const float target = *ask.log_ttft_target;
    for (std::size_t i = 0; i < kLanes; ++i)
      miss[i] = lane_upper_tail((target - lane_log(score.ttft[i] + kOffset)) * certainty_of_ttft[i]);
  }
  if (ask.log_tpot_target) {
    const float target = *ask.log_tpot_target;
    for (std::size_t i = 0; i < kLanes; ++i)
      miss[i] = either(miss[i], lane_upper_tail((target - lane_log(score.tpot[i])) * certainty_of_tpot[i]));
  }
  if (ask.log_deadline) {
    const float target = *ask.log_deadline;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float end_to_end = score.ttft[i] + score.tpot[i] * ask.output;
      const float certainty = std::min(certainty_of_ttft[i], certainty_of_tpot[i]);
      miss[i] = either(miss[i], lane_upper_tail((target - lane_log(end_to_end)) * certainty));
    }
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    score.miss_probability[i] = miss[i];
    score.own_miss[i] = ask.miss_usd * miss[i];
  }
  if (ask.miss_usd_per_second > 0) price_lateness(tile, ask, score);
}

}  // namespace fareway
