#include "placement/decision.hpp"

#include <algorithm>
#include <limits>

#include "placement/constraints/constraints.hpp"
#include "placement/score.hpp"

namespace fareway {
namespace {

constexpr double kSameDollars = 1e-12;
constexpr std::string_view kFailedBefore = "failed_before";

Candidate weigh(const RequestShape& request, const Fleet& fleet, ReplicaIndex index, TimePoint now) {
  const Replica& replica = fleet[index];
  Candidate candidate{.replica = index};
  if (const Constraint* violated = first_violated(request, fleet, replica)) {
    candidate.excluded_by = violated->name;
    return candidate;
  }
  const ReplicaLoad load = load_of(fleet, replica, request.prompt, now);
  candidate.cached = replica.prefixes.cached(request);
  candidate.added_work = fleet[replica.deployment].speed.added_work(
      static_cast<double>((request.prompt - candidate.cached).value),
      static_cast<double>(candidate.cached.value), static_cast<double>(request.expected_output.value));
  candidate.prediction = predict(request, fleet, replica, load, candidate.cached);
  candidate.score = {
      .gpu = gpu_dollars(fleet, replica, candidate.added_work),
      .own_miss = fleet[request.service_class].miss * candidate.prediction.miss_probability,
      .others_miss = others_miss_dollars(request, fleet, replica, load, candidate.cached, now)};
  return candidate;
}

/// The cheapest candidate; among equals the tie break decides, so that no name and no position is favoured.
std::optional<ReplicaIndex> cheapest(const std::vector<Candidate>& candidates, std::uint64_t tie_break) {
  double best = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates)
    if (candidate.excluded_by.empty()) best = std::min(best, candidate.score.total().value);

  const auto as_cheap = [best](const Candidate& candidate) {
    return candidate.excluded_by.empty() && candidate.score.total().value <= best + kSameDollars;
  };
  const auto equals = static_cast<std::uint64_t>(std::ranges::count_if(candidates, as_cheap));
  if (equals == 0) return std::nullopt;
  std::uint64_t skip = tie_break % equals;
  for (const Candidate& candidate : candidates)
    if (as_cheap(candidate) && skip-- == 0) return candidate.replica;
  return std::nullopt;
}

Decision weigh_all(const RequestShape& shape, const Fleet& fleet, std::span<const ReplicaIndex> excluded,
                   TimePoint now) {
  Decision decision;
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const ReplicaIndex index{i};
    if (fleet[fleet[index].deployment].model != shape.model) continue;
    if (std::ranges::find(excluded, index) != excluded.end()) {
      decision.candidates.push_back({.replica = index, .excluded_by = kFailedBefore});
    } else {
      decision.candidates.push_back(weigh(shape, fleet, index, now));
    }
  }
  decision.chosen = cheapest(decision.candidates, shape.tie_break);
  return decision;
}

}  // namespace

const Candidate* Decision::chosen_candidate() const {
  if (!chosen) return nullptr;
  const auto found = std::ranges::find(candidates, *chosen, &Candidate::replica);
  return found == candidates.end() ? nullptr : &*found;
}

bool Decision::hopeless() const {
  return !candidates.empty() && std::ranges::all_of(candidates, [](const Candidate& candidate) {
    return std::ranges::any_of(constraints(), [&](const Constraint& constraint) {
      return constraint.permanent && constraint.name == candidate.excluded_by;
    });
  });
}

Decision decide(const RequestShape& shape, const Fleet& fleet, std::span<const ReplicaIndex> excluded,
                TimePoint now) {
  Decision decision = weigh_all(shape, fleet, excluded, now);
  if (decision.chosen || shape.prompt_error <= 0) return decision;
  // An estimate alone must not refuse what would fit: the engine counts the tokens and has the last word.
  RequestShape shortest = shape;
  shortest.prompt = shape.shortest_prompt();
  Decision lenient = weigh_all(shortest, fleet, excluded, now);
  return lenient.chosen ? lenient : decision;
}

}  // namespace fareway
