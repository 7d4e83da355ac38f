#include "placement/scaling/scaler.hpp"

#include <algorithm>

namespace fareway {
namespace {

double tokens_per_usd(const ReplicaUse& replica) {
  return replica.throughput / std::max(replica.per_second.value, 1e-12);
}

}  // namespace

std::optional<ReplicaIndex> best_outside(std::span<const ReplicaUse> fleet) {
  std::optional<ReplicaIndex> best;
  for (std::uint32_t i = 0; i < fleet.size(); ++i) {
    if (fleet[i].in) continue;
    if (!best || tokens_per_usd(fleet[i]) > tokens_per_usd(fleet[best->value])) best = ReplicaIndex{i};
  }
  return best;
}

std::optional<ReplicaIndex> worst_inside(std::span<const ReplicaUse> fleet) {
  if (std::ranges::count_if(fleet, &ReplicaUse::in) <= 1) return std::nullopt;
  std::optional<ReplicaIndex> worst;
  for (std::uint32_t i = 0; i < fleet.size(); ++i) {
    if (!fleet[i].in) continue;
    if (!worst || tokens_per_usd(fleet[i]) < tokens_per_usd(fleet[worst->value])) worst = ReplicaIndex{i};
  }
  return worst;
}

}  // namespace fareway
