#include "placement/baselines/policy.hpp"

#include <algorithm>
#include <array>

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
          .candidate = {.replica = chosen, .cached = question.fleet.prefixes.cached(chosen, question.shape)}};
}

double typical_throughput(const Deployment& deployment) {
  constexpr double kPrompt = 1000;
  constexpr double kOutput = 250;
  const double batch = static_cast<double>(deployment.seats) / 2;
  const double step = deployment.speed.step(batch, batch * (kPrompt + kOutput / 2)).count();
  const double prefill = deployment.speed.prefill(kPrompt, 0).count();
  return batch * kOutput / (kOutput * step + batch * prefill);
}

std::span<const MakePolicy> all_baselines() {
  static constexpr std::array<MakePolicy, 13> kAll{shortest_predicted_latency,
                                                   block_cost,
                                                   least_kv,
                                                   weighted_least_connections,
                                                   pinned_classes,
                                                   weighted_by_capacity,
                                                   least_requests,
                                                   power_of_two,
                                                   cache_aware,
                                                   session_hash,
                                                   round_robin,
                                                   random_choice,
                                                   lowest_price};
  return kAll;
}

}  // namespace fareway
