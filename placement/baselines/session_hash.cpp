#include <algorithm>

#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// The same session on the same replica, by rendezvous hashing (Thaler and Ravishankar, 1998): vLLM
/// production-stack's `session`, Envoy's RING_HASH on a header. Without a session id the head of the prompt
/// stands for it; without content the request is alone.
class SessionHash final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "session hash"; }

 private:
  /// Blocks of 256 tokens: a system prompt and the first words of the session.
  static constexpr std::size_t kHeadBlocks = 4;

  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    std::uint64_t session = question.shape.session;
    if (session == 0 && !question.shape.prefix.empty())
      session = question.shape.prefix[std::min(kHeadBlocks, question.shape.prefix.size()) - 1];
    if (session == 0) session = question.shape.tie_break;
    ReplicaIndex best = feasible.front();
    std::uint64_t highest = 0;
    for (const ReplicaIndex replica : feasible) {
      std::uint64_t rank = (session ^ (replica.value + 1)) * 0x9e3779b97f4a7c15U;
      rank = (rank ^ (rank >> 32U)) * 0xd6e8feb86659fd93U;
      rank ^= rank >> 32U;
      if (rank < highest) continue;
      highest = rank;
      best = replica;
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> session_hash() {
  return std::make_unique<SessionHash>();
}

}  // namespace fareway
