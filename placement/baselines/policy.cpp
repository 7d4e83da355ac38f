#include "placement/baselines/policy.hpp"

#include <algorithm>

#include "placement/constraints/constraints.hpp"

namespace fareway {

Verdict BaselinePolicy::choose(const PlacementQuestion& question) {
  feasible_.clear();
  for (std::uint32_t i = 0; i < question.fleet.replicas.size(); ++i) {
    const ReplicaIndex index{i};
    const Replica& replica = question.fleet[index];
    if (question.fleet[replica.deployment].model != question.shape.model) continue;
    if (std::ranges::find(question.excluded, index) != question.excluded.end()) continue;
    if (first_violated(question.shape, question.fleet, replica) == Violation::kNone)
      feasible_.push_back(index);
  }
  if (feasible_.empty()) return {};
  const ReplicaIndex chosen = pick(question, feasible_);
  return {.kind = Verdict::Kind::kPlace,
          .candidate = {.replica = chosen, .cached = question.fleet[chosen].prefixes.cached(question.shape)}};
}

double typical_throughput(const Deployment& deployment) {
  constexpr double kPrompt = 1000;
  constexpr double kOutput = 250;
  const double batch = static_cast<double>(deployment.seats) / 2;
  const double step = deployment.speed.step(batch, batch * (kPrompt + kOutput / 2)).count();
  const double prefill = deployment.speed.prefill(kPrompt, 0).count();
  return batch * kOutput / (kOutput * step + batch * prefill);
}

std::vector<std::unique_ptr<PlacementPolicy>> all_baselines() {
  std::vector<std::unique_ptr<PlacementPolicy>> all;
  all.push_back(round_robin());
  all.push_back(random_choice());
  all.push_back(least_requests());
  all.push_back(power_of_two());
  all.push_back(weighted_by_capacity());
  all.push_back(weighted_least_connections());
  all.push_back(session_hash());
  all.push_back(cache_aware());
  all.push_back(block_cost());
  all.push_back(least_kv());
  all.push_back(lowest_price());
  all.push_back(pinned_classes());
  all.push_back(shortest_predicted_latency());
  return all;
}

}  // namespace fareway
