#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// Any replica: Envoy's RANDOM, HAProxy's `balance random(1)`.
class RandomChoice final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "random"; }

 private:
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    return feasible[question.shape.tie_break % feasible.size()];
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> random_choice() {
  return std::make_unique<RandomChoice>();
}

}  // namespace fareway
