#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// Round robin in proportion to throughput, smoothly interleaved: nginx's and HAProxy's `weight`, set by
/// somebody who measured each kind of replica.
class WeightedByCapacity final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "weighted by capacity"; }

 private:
  /// Whoever has earned most is next: every replica earns its weight a turn, the chosen one pays them all.
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    earned_.resize(question.fleet.replicas.size(), 0);
    double all = 0;
    ReplicaIndex best = feasible.front();
    for (const ReplicaIndex replica : feasible) {
      const double weight = typical_throughput(question.fleet[question.fleet[replica].deployment]);
      all += weight;
      earned_[replica.value] += weight;
      if (earned_[replica.value] > earned_[best.value]) best = replica;
    }
    earned_[best.value] -= all;
    return best;
  }

  std::vector<double> earned_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> weighted_by_capacity() {
  return std::make_unique<WeightedByCapacity>();
}

}  // namespace fareway
