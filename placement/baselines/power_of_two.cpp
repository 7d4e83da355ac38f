#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// The less loaded of two replicas drawn at random (Mitzenmacher, "The power of two choices in randomized
/// load balancing", 2001): Envoy's LEAST_REQUEST, HAProxy's `balance random`, SGLang's and vLLM's
/// `power_of_two` routers.
class PowerOfTwo final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "power of two"; }

 private:
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    const std::uint64_t draw = question.shape.tie_break;
    const ReplicaIndex one = feasible[(draw & 0xffffffffU) % feasible.size()];
    const ReplicaIndex other = feasible[(draw >> 32U) % feasible.size()];
    const bool other_has_fewer =
        question.fleet[other].in_flight.size() < question.fleet[one].in_flight.size();
    return other_has_fewer ? other : one;
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> power_of_two() {
  return std::make_unique<PowerOfTwo>();
}

}  // namespace fareway
