#include "placement/simulation/dollar_policy.hpp"

#include <limits>

namespace fareway::simulation {

Verdict DollarPolicy::choose(const PlacementQuestion& question) {
  if (terms_.gpu && terms_.own_miss && terms_.others_miss) {
    const Choice choice = fareway::choose(question.shape, question.fleet, question.table, question.excluded,
                                          question.now, scratch_);
    if (!choice.chosen) return {};
    return {
        .kind = Verdict::Kind::kPlace, .candidate = *choice.chosen, .refuse_dollars = choice.refuse_dollars};
  }
  const Decision decision =
      decide(question.shape, question.fleet, question.table, question.excluded, question.now, scratch_);

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
