#include <algorithm>

#include "placement/baselines/policy.hpp"
#include "placement/decision.hpp"

namespace fareway {
namespace {

/// Least predicted time to the last token, from the same profiles as Fareway's own decision: the honest rival
/// (predicted-latency scheduling of llm-d, PolyServe, Mooncake's conductor). Knows no dollars and no
/// objective of anybody.
class ShortestPredictedLatency final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "shortest predicted latency"; }

 private:
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    const Decision decision =
        decide(question.shape, question.fleet, question.table, question.excluded, question.now, scratch_);
    const auto output = static_cast<double>(question.shape.expected_output.value);
    return least(question, feasible, [&](ReplicaIndex replica) {
      const auto candidate = std::ranges::find(decision.candidates, replica, &Candidate::replica);
      return (candidate->prediction.ttft + candidate->prediction.tpot * output).count();
    });
  }

  DecisionScratch scratch_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> shortest_predicted_latency() {
  return std::make_unique<ShortestPredictedLatency>();
}

}  // namespace fareway
