#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// Fewest requests for its throughput: IPVS's `wlc`, Envoy's LEAST_REQUEST with weights.
class WeightedLeastConnections final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "weighted least connections"; }

 private:
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    return least(question, feasible, [&](ReplicaIndex index) {
      const Replica& replica = question.fleet[index];
      return static_cast<double>(replica.in_flight.size() + 1) /
             typical_throughput(question.fleet[replica.deployment]);
    });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> weighted_least_connections() {
  return std::make_unique<WeightedLeastConnections>();
}

}  // namespace fareway
