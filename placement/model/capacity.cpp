#include <algorithm>

#include "placement/model/deployment.hpp"

namespace fareway {

Capacity capacity_of(const Model& model, const Device& device, const Parallelism& parallelism, Bytes weights,
                     Bytes reserve_per_device) {
  const std::int64_t devices = parallelism.devices();
  // Every TP rank holds at least one KV head: beyond the model's heads they are copies, which DCP splits up
  // again.
  const std::int64_t distinct = static_cast<std::int64_t>(model.kv_heads) * parallelism.dcp;
  const std::int64_t copies = std::max<std::int64_t>(1, parallelism.tp / std::max<std::int64_t>(distinct, 1));
  return {.kv_pool = Bytes{devices * (device.hbm - reserve_per_device).value} - weights,
          .kv_per_token = model.kv_per_token * copies,
          .state_per_sequence = model.state_per_sequence};
}

Bytes Capacity::sequence(Tokens context) const {
  return kv_per_token * context.value + state_per_sequence;
}

std::int64_t Capacity::sessions(Tokens context) const {
  const Bytes each = sequence(context);
  return kv_pool.value <= 0 || each.value <= 0 ? 0 : kv_pool.value / each.value;
}

Tokens Capacity::longest_sequence() const {
  const Bytes left = kv_pool - state_per_sequence;
  if (left.value <= 0 || kv_per_token.value <= 0) return {};
  return {left.value / kv_per_token.value};
}

}  // namespace fareway
