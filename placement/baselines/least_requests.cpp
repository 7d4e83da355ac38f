#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// Fewest requests in flight: nginx's `least_conn`, HAProxy's `leastconn`, LiteLLM's `least-busy`.
class LeastRequests final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "least requests"; }

 private:
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    return least(question, feasible, [&](ReplicaIndex replica) {
      return static_cast<double>(question.fleet[replica].in_flight.size());
    });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> least_requests() {
  return std::make_unique<LeastRequests>();
}

}  // namespace fareway
