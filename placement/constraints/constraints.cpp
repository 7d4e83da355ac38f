#include "placement/constraints/constraints.hpp"

#include <algorithm>
#include <array>

namespace fareway {
namespace {

bool model_allowed(const RequestShape& request, const Fleet& fleet, const Replica&) {
  const auto& models = fleet[request.tenant].models;
  return models.empty() || std::ranges::find(models, request.model) != models.end();
}

bool region_allowed(const RequestShape& request, const Fleet& fleet, const Replica& replica) {
  const auto& regions = fleet[request.tenant].regions;
  return regions.empty() || std::ranges::find(regions, fleet[replica.pool].region) != regions.end();
}

bool within_price_ceiling(const RequestShape& request, const Fleet& fleet, const Replica& replica) {
  const auto& ceiling = fleet[request.tenant].max_per_device_hour;
  return !ceiling || fleet[replica.pool].per_device_hour <= *ceiling;
}

bool format_runs(const RequestShape&, const Fleet& fleet, const Replica& replica) {
  return fleet[replica.deployment].format_support != FormatSupport::kWrong;
}

/// Prompt and answer together fit the engine's limit, which is at most what the KV pool holds.
bool context_fits(const RequestShape& request, const Fleet& fleet, const Replica& replica) {
  const Tokens output = request.output_limit.value_or(Tokens{1});
  return request.prompt + output <= fleet[replica.deployment].context_limit;
}

bool healthy(const RequestShape&, const Fleet&, const Replica& replica) {
  return replica.health.serving();
}

bool awake(const RequestShape&, const Fleet&, const Replica& replica) {
  return !replica.reading || !replica.reading->asleep;
}

constexpr std::array kConstraints{Constraint{"tenant", model_allowed, true},
                                  Constraint{"region", region_allowed, true},
                                  Constraint{"price_ceiling", within_price_ceiling, true},
                                  Constraint{"format", format_runs, true},
                                  Constraint{"context", context_fits, true},
                                  Constraint{"health", healthy, false},
                                  Constraint{"asleep", awake, false}};

}  // namespace

std::span<const Constraint> constraints() {
  return kConstraints;
}

const Constraint* first_violated(const RequestShape& request, const Fleet& fleet, const Replica& replica) {
  const auto violated = std::ranges::find_if(
      kConstraints, [&](const Constraint& constraint) { return !constraint.holds(request, fleet, replica); });
  return violated == kConstraints.end() ? nullptr : &*violated;
}

}  // namespace fareway
