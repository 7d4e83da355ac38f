#include "placement/score/others_miss.hpp"

#include "placement/load.hpp"

namespace fareway {

void price_others_miss(const CandidateTile& __restrict tile, std::span<const StallCurve, kLanes> curves,
                       const Ask& ask, TileScore& __restrict score) {
  FloatLanes delay;
  for (std::size_t i = 0; i < kLanes; ++i) {
    const float remaining = tile.disturbed_remaining[i];
    const float together = std::min(ask.output, 2 * remaining);
    const float mean_together = together - together * together / (4 * remaining);
    const float share = std::min(tile.prefill_share[i] * ask.share_fade, kLargestPrefillShare);
    const float slower = (tile.slower_step[i] + tile.per_context_token[i] * ask.prompt) / (1 - share);
    delay[i] = score.prefill[i] + mean_together * slower;
  }
  for (std::size_t i = 0; i < kLanes; ++i) score.others_miss[i] = std::max(curves[i].at(delay[i]), 0.0F);
}

}  // namespace fareway
