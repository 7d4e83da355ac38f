#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

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

/// The three dollar terms of a placement. They add up without weights.
struct Score {
  Usd gpu;          ///< marginal: rate × the seconds this request adds; 0 on reserved capacity
  Usd own_miss;     ///< worth of a miss × its probability
  Usd others_miss;  ///< the same over everybody in flight there, with this request minus without
  Usd total() const { return gpu + own_miss + others_miss; }
};

struct Candidate {
  ReplicaIndex replica{};
  std::string_view
      excluded_by{};  ///< name of the first hard constraint that fails; empty for a feasible candidate
  Tokens cached{};
  Seconds added_work{};  ///< GPU seconds the request adds to this replica
  Prediction prediction{};
  Score score{};
};

/// The replica chosen, with every candidate's dollars and the reason each loser lost. Candidates are all
/// replicas of the fleet that run the model, in the fleet's order.
struct Decision {
  std::optional<ReplicaIndex> chosen;
  std::vector<Candidate> candidates;

  const Candidate* chosen_candidate() const;
  /// True where every candidate failed for the request's own sake (context, tenant, ...) rather than the
  /// fleet's health.
  bool hopeless() const;
};

/// Cheapest replica in expected dollars among those that satisfy every hard constraint. Pure and
/// deterministic for equal inputs; equal scores are spread by `shape.tie_break`. O(replicas of the model ×
/// their requests in flight). `excluded`: replicas that already failed this request.
Decision decide(const RequestShape& shape, const Fleet& fleet, std::span<const ReplicaIndex> excluded,
                TimePoint now);

}  // namespace fareway
