#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// Fewest blocks: those of the prompt that are not cached, and those of the requests in flight. NVIDIA
/// Dynamo's KV router, overlap weight 1 and temperature 0 (`potential_prefill_blocks + decode_blocks`).
class BlockCost final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "block cost"; }

 private:
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    return least(question, feasible, [&](ReplicaIndex index) {
      const Replica& replica = question.fleet[index];
      double tokens = static_cast<double>(
          (question.shape.prompt - question.fleet.prefixes.cached(index, question.shape)).value);
      for (const InFlight& q : replica.in_flight) {
        tokens += q.context();
        if (!q.first_token) tokens += static_cast<double>((q.prompt - q.cached).value);
      }
      return tokens / static_cast<double>(kBlockTokens);
    });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> block_cost() {
  return std::make_unique<BlockCost>();
}

}  // namespace fareway
