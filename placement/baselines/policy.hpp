#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "placement/decision.hpp"
#include "placement/fleet.hpp"

namespace fareway {

/// What a policy is asked.
struct PlacementQuestion {
  const RequestShape& shape;
  const Fleet& fleet;
  const CandidateTable& table;             ///< the same fleet, condensed
  std::span<const ReplicaIndex> excluded;  ///< may not be chosen: failed this request before, or draining
  TimePoint now;
};

/// Where a request goes. A policy that predicts fills the candidate's dollars in; others name the replica and
/// what is probably cached there.
struct Verdict {
  enum class Kind : std::uint8_t { kPlace, kRefuse };
  Kind kind{Kind::kRefuse};
  Candidate candidate{};
  std::optional<Usd> refuse_dollars{};  ///< of a policy that knows what refusing costs
};

/// One way of choosing a replica: Fareway's own decision, or a public policy to compare it with. Chance comes
/// in as `shape.tie_break`, so equal questions in equal order give equal verdicts. One thread.
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  virtual std::string_view name() const = 0;  ///< as tables print it
  virtual Verdict choose(const PlacementQuestion& question) = 0;
};

/// A public policy: picks one of the replicas that satisfy every hard constraint; refuses only without any.
class BaselinePolicy : public PlacementPolicy {
 public:
  Verdict choose(const PlacementQuestion& question) final;

 private:
  /// `feasible` is never empty and in the fleet's order.
  virtual ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) = 0;

  std::vector<ReplicaIndex> feasible_;
};

/// The replica whose `cost` is least; equals are spread by the request's tie break.
template <class Cost>
ReplicaIndex least(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible, Cost cost) {
  double best = 0;
  std::uint64_t equals = 0;
  for (const ReplicaIndex replica : feasible) {
    const double here = cost(replica);
    if (equals == 0 || here < best) {
      best = here;
      equals = 1;
    } else if (here <= best) {
      ++equals;
    }
  }
  std::uint64_t skip = question.shape.tie_break % equals;
  for (const ReplicaIndex replica : feasible)
    if (cost(replica) <= best && skip-- == 0) return replica;
  return feasible.front();
}

/// Tokens a second one replica generates when it runs full batches of typical requests (1,000 in, 250 out,
/// half its seats): what a capacity-weighted balancer would be configured with.
double typical_throughput(const Deployment& deployment);

// Each is described in its own file: what it imitates, and where that is published.
std::unique_ptr<PlacementPolicy> round_robin();
std::unique_ptr<PlacementPolicy> random_choice();
std::unique_ptr<PlacementPolicy> least_requests();
std::unique_ptr<PlacementPolicy> power_of_two();
std::unique_ptr<PlacementPolicy> weighted_by_capacity();
std::unique_ptr<PlacementPolicy> weighted_least_connections();
std::unique_ptr<PlacementPolicy> session_hash();
std::unique_ptr<PlacementPolicy> cache_aware();
std::unique_ptr<PlacementPolicy> block_cost();
std::unique_ptr<PlacementPolicy> least_kv();
std::unique_ptr<PlacementPolicy> lowest_price();
std::unique_ptr<PlacementPolicy> pinned_classes();
std::unique_ptr<PlacementPolicy> shortest_predicted_latency();

/// All of them, in the order of the tables.
using MakePolicy = std::unique_ptr<PlacementPolicy> (*)();
std::span<const MakePolicy> all_baselines();

}  // namespace fareway
