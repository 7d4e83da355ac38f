#include "placement/model/speed.hpp"

#include <algorithm>
#include <cmath>

#include "placement/model/format_support.hpp"

namespace fareway {
namespace {

constexpr double kActivationBytes = 2;      // bf16 between layers
constexpr double kFlopsPerParameter = 2;    // a multiply and an add
constexpr double kCollectivesPerLayer = 2;  // after attention, after the MLP

}  // namespace

SpeedProfile roofline(const Model& model, const Device& device, const Parallelism& parallelism, Bytes weights,
                      NumberFormat format) {
  const auto devices = static_cast<double>(parallelism.devices());
  const auto tp = static_cast<double>(parallelism.tp);
  const double bandwidth = devices * device.hbm_bandwidth.value * device.bandwidth_efficiency;
  const bool fp8_units = format != NumberFormat::kBf16 && format != NumberFormat::kInt4 &&
                         device.fp8_flops.value > 0 &&
                         format_support(device, format) != FormatSupport::kEmulated;
  const double matmul_flops =
      devices * (fp8_units ? device.fp8_flops : device.bf16_flops).value * device.compute_efficiency;
  const double attention_flops = devices * device.bf16_flops.value * device.compute_efficiency;

  SpeedProfile profile;
  if (model.experts > 0)
    profile.expert_share = static_cast<double>(model.experts_per_token) / static_cast<double>(model.experts);
  const double weight_read = static_cast<double>(weights.value) / bandwidth;
  const double routed = model.expert_share_of_parameters();
  const double collectives = parallelism.tp > 1 ? kCollectivesPerLayer * model.layers : 0;
  const double all_reduce_per_token =
      parallelism.tp > 1 ? 2 * (tp - 1) / tp * static_cast<double>(model.hidden_size) * kActivationBytes /
                               device.group_bandwidth(parallelism.tp).value
                         : 0;

  profile.step_floor = weight_read * (1 - routed) + model.layers * device.layer_overhead.count() +
                       collectives * device.collective_latency.count();
  profile.expert_weights = weight_read * routed;
  profile.per_prompt_token =
      kFlopsPerParameter * static_cast<double>(model.active_parameters) / matmul_flops +
      collectives * all_reduce_per_token;
  profile.per_sequence = profile.per_prompt_token;  // one token of one sequence is the same work
  const Capacity capacity = capacity_of(model, device, parallelism, {.weights = weights});
  profile.per_context_token = static_cast<double>(capacity.kv_per_token.value) / bandwidth;
  profile.per_prompt_pair = static_cast<double>(model.attention_flops_per_pair) / attention_flops;
  return profile;
}

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

}  // namespace fareway
