#include "placement/baselines/policy.hpp"
#include "placement/score.hpp"

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
    const RequestShape& shape = question.shape;
    return least(question, feasible, [&](const Replica& replica) {
      const ReplicaLoad load = load_of(question.fleet, replica, shape.prompt, question.now);
      const Prediction prediction =
          predict(shape, question.fleet, replica, load, replica.prefixes.cached(shape));
      return (prediction.ttft + prediction.tpot * static_cast<double>(shape.expected_output.value)).count();
    });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> shortest_predicted_latency() {
  return std::make_unique<ShortestPredictedLatency>();
}

}  // namespace fareway
