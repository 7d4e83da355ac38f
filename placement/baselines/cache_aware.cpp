#include <algorithm>

#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// The longest cached prefix, unless the fleet is out of balance: SGLang router's `cache_aware` with the
/// thresholds it is published with: a match counts from 0.3 of the prompt, otherwise the replica that caches
/// least; balance is lost when the most loaded has more than 64 requests above and 1.5 times those of the
/// least loaded, and then the least loaded is taken.
class CacheAware final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "cache-aware 0.3/64/1.5"; }

 private:
  static constexpr double kCacheThreshold = 0.3;
  static constexpr std::size_t kBalanceAbsolute = 64;
  static constexpr double kBalanceRelative = 1.5;

  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    const PrefixIndex& prefixes = question.fleet.prefixes;
    const auto load = [&](ReplicaIndex replica) { return question.fleet[replica].in_flight.size(); };
    std::size_t fewest = load(feasible.front());
    std::size_t most = fewest;
    for (const ReplicaIndex replica : feasible) {
      fewest = std::min(fewest, load(replica));
      most = std::max(most, load(replica));
    }
    const bool unbalanced = most - fewest > kBalanceAbsolute &&
                            static_cast<double>(most) > kBalanceRelative * static_cast<double>(fewest);
    if (unbalanced) {
      return least(question, feasible,
                   [&](ReplicaIndex replica) { return static_cast<double>(load(replica)); });
    }
    const ReplicaIndex longest = least(question, feasible, [&](ReplicaIndex replica) {
      return -static_cast<double>(prefixes.cached(replica, question.shape).value);
    });
    const auto matched = static_cast<double>(prefixes.cached(longest, question.shape).value);
    if (matched > kCacheThreshold * static_cast<double>(question.shape.prompt.value)) return longest;
    return least(question, feasible,
                 [&](ReplicaIndex replica) { return static_cast<double>(prefixes.blocks(replica)); });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> cache_aware() {
  return std::make_unique<CacheAware>();
}

}  // namespace fareway
