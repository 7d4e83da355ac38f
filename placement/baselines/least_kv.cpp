#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// The smallest share of KV memory in use: the KV-cache scorer of the Kubernetes gateway API's inference
/// extension, alone. Exact and fresh here, where the original reads a metric.
class LeastKv final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "least KV"; }

 private:
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    return least(question, feasible, [&](ReplicaIndex index) {
      const Replica& replica = question.fleet[index];
      double tokens = 0;
      for (const InFlight& q : replica.in_flight) tokens += q.context();
      return tokens /
             static_cast<double>(question.fleet[replica.deployment].capacity.longest_sequence().value);
    });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> least_kv() {
  return std::make_unique<LeastKv>();
}

}  // namespace fareway
