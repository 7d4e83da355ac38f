#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "placement/candidate_table.hpp"
#include "placement/constraints/constraints.hpp"
#include "placement/fleet.hpp"
#include "placement/request_shape.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What a request would see on a replica, before it is sent there.
struct Prediction {
  Seconds ttft{};
  Seconds tpot{};
  double miss_probability{};
};

/// The three dollar terms of a placement, and what rules prefer. They add up without weights.
struct Score {
  Usd gpu;           ///< marginal: rate × the seconds this request adds; 0 on reserved capacity
  Usd own_miss;      ///< worth of a miss × its probability
  Usd others_miss;   ///< the same over everybody in flight there, with this request minus without
  Usd preference{};  ///< what the operator's rules take off: zero or less
  Usd total() const { return gpu + own_miss + others_miss + preference; }
};

struct Candidate {
  ReplicaIndex replica{};
  std::string_view
      excluded_by{};        ///< name of the first hard constraint that fails; empty for a feasible candidate
  std::string_view rule{};  ///< the rule's name where `excluded_by` is one; lives as long as the fleet
  Tokens cached{};
  Seconds added_work{};  ///< GPU seconds the request adds to this replica
  Prediction prediction{};
  Score score{};
  std::optional<Seconds> reading_age{};  ///< of the load reading used; nothing where it was never read
};

/// The choice alone, without what the losers would have cost.
struct Choice {
  std::optional<Candidate> chosen;
  /// What refusing costs: the class's value of a miss. Nothing where it pays by the second: what never is
  /// worth nobody said.
  std::optional<Usd> refuse_dollars;
  /// Wherever it went, this request and those it disturbs would lose more in misses than refusing it costs.
  /// True also where nothing is feasible. Whoever admits requests acts on it; `chosen` stands regardless.
  bool cheaper_to_refuse{true};
};

/// The replica chosen, with every candidate's dollars and the reason each loser lost. Candidates are all
/// replicas of the fleet that run the model, in the fleet's order.
struct Decision {
  std::optional<ReplicaIndex> chosen;
  std::vector<Candidate> candidates;
  std::optional<Usd> refuse_dollars{};
  bool cheaper_to_refuse{false};

  const Candidate* chosen_candidate() const;
  /// True where every candidate failed for the request's own sake (context, tenant, ...) rather than the
  /// fleet's health.
  bool hopeless() const;
};

/// Where a decision is worked out; holds the last one's figures until the next. It grows to the largest model
/// once and allocates nothing after. One a thread.
struct DecisionScratch {
  std::vector<TileScore> tiles;
  std::vector<Violation> pools;
  std::vector<float> preferences;  ///< by pool
};

/// Cheapest replica in expected dollars among those that satisfy every hard constraint. Given equal inputs it
/// is deterministic; equal scores are spread by `shape.tie_break`. O(replicas of the model), whatever they
/// have in flight. `table` condenses `fleet` as it is at `now`; `excluded`: replicas that already failed this
/// request.
Choice choose(const RequestShape& shape, const Fleet& fleet, const CandidateTable& table,
              std::span<const ReplicaIndex> excluded, TimePoint now, DecisionScratch& scratch);

/// The same, and everything that is known of every candidate. Allocates them.
Decision decide(const RequestShape& shape, const Fleet& fleet, const CandidateTable& table,
                std::span<const ReplicaIndex> excluded, TimePoint now, DecisionScratch& scratch);

/// For one question about a fleet that nobody keeps a table of; condensing it costs more than deciding.
Decision decide(const RequestShape& shape, const Fleet& fleet, std::span<const ReplicaIndex> excluded,
                TimePoint now);

}  // namespace fareway
