#include "placement/model/capacity.hpp"

#include <algorithm>

namespace fareway {
namespace {

Bytes kv_per_token(const Model& model, KvFormat format) {
  if (format == KvFormat::kBf16) return model.kv_per_token;
  return model.kv_per_token_fp8.value_or(Bytes{model.kv_per_token.value / 2});
}

Bytes window_kv_per_token(const Model& model, KvFormat format) {
  return format == KvFormat::kBf16 ? model.window_kv_per_token : Bytes{model.window_kv_per_token.value / 2};
}

/// HBM that the engine may fill, counted as if every pipeline stage were as full as the fullest.
Bytes usable_hbm(const Model& model, const Device& device, const Parallelism& parallelism,
                 const MemoryPlan& plan) {
  const auto share = static_cast<std::int64_t>(static_cast<double>(device.hbm.value) * plan.utilisation);
  const std::int64_t stage =
      static_cast<std::int64_t>(parallelism.tp) * parallelism.dp * (share - plan.reserve_per_device.value);
  if (parallelism.pp <= 1 || model.layers == 0) return {stage * parallelism.pp};
  const std::uint32_t fullest = (model.layers + parallelism.pp - 1) / parallelism.pp;
  return {static_cast<std::int64_t>(static_cast<double>(stage) * model.layers / fullest)};
}

}  // namespace

std::int64_t kv_copies(const Model& model, const Parallelism& parallelism) {
  const std::int64_t distinct = static_cast<std::int64_t>(model.kv_heads) * parallelism.dcp;
  return std::max<std::int64_t>(1, parallelism.tp / std::max<std::int64_t>(distinct, 1));
}

Capacity capacity_of(const Model& model, const Device& device, const Parallelism& parallelism,
                     const MemoryPlan& plan) {
  const std::int64_t copies = kv_copies(model, parallelism);
  return {.kv_pool = usable_hbm(model, device, parallelism, plan) - plan.weights,
          .kv_per_token = kv_per_token(model, plan.kv_format) * copies,
          .state_per_sequence = model.state_per_sequence,
          .window_kv_per_token = window_kv_per_token(model, plan.kv_format) * copies,
          .window = model.window,
          .pools = parallelism.dp};
}

Bytes Capacity::sequence(Tokens context) const {
  return kv_per_token * context.value + window_kv_per_token * std::min(context, window).value +
         state_per_sequence;
}

std::int64_t Capacity::sessions(Tokens context) const {
  const Bytes each = sequence(context);
  return kv_pool.value <= 0 || each.value <= 0 ? 0 : pools * (kv_pool.value / pools / each.value);
}

Tokens Capacity::longest_sequence() const {
  const std::int64_t left = kv_pool.value / pools - state_per_sequence.value;
  if (left <= 0 || kv_per_token.value <= 0) return {};
  // Up to the window both caches grow; beyond it only that of full attention does.
  const std::int64_t both = left / (kv_per_token.value + window_kv_per_token.value);
  if (both <= window.value) return {both};
  return {(left - (window_kv_per_token * window.value).value) / kv_per_token.value};
}

}  // namespace fareway
