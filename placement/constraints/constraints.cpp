#include "placement/constraints/constraints.hpp"

#include <algorithm>
#include <array>

namespace fareway {

std::string_view to_string(Violation violation) {
  switch (violation) {
    case Violation::kTenant:
      return "tenant";
    case Violation::kRegion:
      return "region";
    case Violation::kPriceCeiling:
      return "price_ceiling";
    case Violation::kRule:
      return "rule";
    case Violation::kFormat:
      return "format";
    case Violation::kContext:
      return "context";
    case Violation::kHealth:
      return "health";
    case Violation::kDraining:
      return "draining";
    case Violation::kAsleep:
      return "asleep";
    case Violation::kRuleCap:
      return "rule_cap";
    case Violation::kFailedBefore:
      return "failed_before";
    case Violation::kAbsent:
      return "absent";
    case Violation::kNone:
      break;
  }
  return {};
}

bool permanent(std::string_view violation) {
  constexpr std::array kPermanent{Violation::kTenant, Violation::kRegion, Violation::kPriceCeiling,
                                  Violation::kRule,   Violation::kFormat, Violation::kContext};
  return std::ranges::find(kPermanent, violation, [](Violation one) { return to_string(one); }) !=
         kPermanent.end();
}

bool restricted(const RequestShape& request, const Fleet& fleet) {
  const TenantRules& rules = fleet[request.tenant];
  return !rules.models.empty() || !rules.regions.empty() || rules.max_per_device_hour || request.rules != 0;
}

Violation violated_by_pool(const RequestShape& request, const Fleet& fleet, PoolIndex index) {
  const Pool& pool = fleet[index];
  const TenantRules& rules = fleet[request.tenant];
  const auto outside = [](const auto& allowed, const auto& value) {
    return !allowed.empty() && std::ranges::find(allowed, value) == allowed.end();
  };
  if (outside(rules.models, request.model)) return Violation::kTenant;
  if (outside(rules.regions, pool.region)) return Violation::kRegion;
  if (rules.max_per_device_hour && pool.per_device_hour > *rules.max_per_device_hour)
    return Violation::kPriceCeiling;
  if (fleet.rules.always_excluding(request.rules, index)) return Violation::kRule;
  if (fleet.rules.excluding(request.rules, index, fleet.rule_in_flight)) return Violation::kRuleCap;
  return Violation::kNone;
}

Violation violated_by_context(const RequestShape& request, const Deployment& deployment) {
  return request.context_needed() <= deployment.context_limit ? Violation::kNone : Violation::kContext;
}

Violation violated_by_replica(const Fleet& fleet, const Replica& replica) {
  if (fleet[replica.deployment].format_support == FormatSupport::kWrong) return Violation::kFormat;
  if (!replica.health.serving()) return Violation::kHealth;
  if (replica.draining) return Violation::kDraining;
  if (replica.reading && replica.reading->asleep) return Violation::kAsleep;
  return Violation::kNone;
}

Violation first_violated(const RequestShape& request, const Fleet& fleet, const Replica& replica) {
  return std::min({violated_by_pool(request, fleet, replica.pool),
                   violated_by_context(request, fleet[replica.deployment]),
                   violated_by_replica(fleet, replica)});
}

}  // namespace fareway
