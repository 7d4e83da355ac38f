#include "placement/admission/cheaper_hour.hpp"

#include <algorithm>
#include <vector>

#include "placement/cheap_hours.hpp"

namespace fareway {

std::optional<Seconds> hold_for_cheaper_hour(const Decision& decision, const RequestShape& shape,
                                             const Fleet& fleet, const PriceBook& prices, WallTime now) {
  const ServiceClass& objective = fleet[shape.service_class];
  if (!objective.deadline || objective.ttft) return std::nullopt;
  const auto changes = [&](const Candidate& candidate) {
    return candidate.excluded_by.empty() && prices.steps(fleet[candidate.replica].pool).back().from > now;
  };
  if (std::ranges::none_of(decision.candidates, changes)) return std::nullopt;
  const WallTime deadline =
      now + std::chrono::duration_cast<WallTime::duration>(*objective.deadline - shape.waited);
  std::vector<ServingOffer> offers;
  double spread = 0;
  for (const Candidate& candidate : decision.candidates) {
    if (!candidate.excluded_by.empty()) continue;
    const Replica& replica = fleet[candidate.replica];
    const Spread& errors = replica.errors[kind_of(shape.service_class, shape.prompt)];
    spread = std::max({spread, errors.ttft, errors.tpot});
    const auto output = static_cast<double>(shape.expected_output.value);
    offers.push_back({.pool = replica.pool,
                      .devices = static_cast<std::uint32_t>(fleet[replica.deployment].parallelism.devices()),
                      .releasable = fleet[replica.pool].releasable(),
                      .added_work = candidate.added_work,
                      .stay = candidate.prediction.ttft + candidate.prediction.tpot * output});
  }
  const PlannedStart plan = cheapest_start(offers, prices, now, deadline, spread);
  return plan.start > now ? std::optional<Seconds>(plan.start - now) : std::nullopt;
}

}  // namespace fareway
