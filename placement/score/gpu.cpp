#include "placement/score/gpu.hpp"

namespace fareway {

void price_gpu(const CandidateTile& __restrict tile, const Ask& ask, TileScore& __restrict score) {
  const float prompt = ask.prompt;
  const float output = ask.output;
  const float mean_context = prompt + output / 2;
  for (std::size_t i = 0; i < kLanes; ++i) {
    const float cached = score.cached[i];
    const float uncached = prompt - cached;
    const float prefill =
        uncached * (tile.per_prompt_token[i] + tile.per_prompt_pair[i] * (cached + uncached / 2));
    const float decode = output * (tile.per_sequence[i] + tile.per_context_token[i] * mean_context);
    score.prefill[i] = prefill;
    score.added_work[i] = prefill + decode;
    score.gpu[i] = tile.usd_per_second[i] * (prefill + decode);
  }
}

}  // namespace fareway
