#include "placement/simulation/dollar_policy.hpp"

#include <limits>

namespace fareway::simulation {

Verdict DollarPolicy::choose(const PlacementQuestion& question) {
  const Decision decision = decide(question.shape, question.fleet, question.excluded, question.now);
  if (!decision.chosen) return {};
  if (terms_.gpu && terms_.own_miss && terms_.others_miss)
    return {.kind = Verdict::Kind::kPlace, .candidate = *decision.chosen_candidate()};

  const Candidate* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : decision.candidates) {
    if (!candidate.excluded_by.empty()) continue;
    const double dollars = (terms_.gpu ? candidate.score.gpu.value : 0) +
                           (terms_.own_miss ? candidate.score.own_miss.value : 0) +
                           (terms_.others_miss ? candidate.score.others_miss.value : 0);
    if (dollars >= least) continue;
    least = dollars;
    best = &candidate;
  }
  return best == nullptr ? Verdict{} : Verdict{.kind = Verdict::Kind::kPlace, .candidate = *best};
}

}  // namespace fareway::simulation
