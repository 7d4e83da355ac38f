#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "placement/admission/waiting.hpp"
#include "placement/constraints/constraints.hpp"
#include "placement/miss_value.hpp"
#include "router/config/address_text.hpp"
#include "router/config/config.hpp"
#include "router/config/rule_review.hpp"

namespace fareway {
namespace {

void warn_of_formats(const Fleet& fleet, std::vector<std::string>& warnings) {
  for (const Deployment& deployment : fleet.deployments) {
    if (deployment.format_support != FormatSupport::kEmulated) continue;
    warnings.push_back(fmt::format("deployment {}: {} is emulated: {}; weights take {:.2f} times as long",
                                   deployment.name, to_string(deployment.format), deployment.format_reason,
                                   deployment.format_slowdown));
  }
}

void warn_of_unused(const Fleet& fleet, std::vector<std::string>& warnings) {
  std::vector<bool> served(fleet.models.size());
  std::vector<bool> used(fleet.deployments.size());
  for (const Replica& replica : fleet.replicas) {
    used[replica.deployment.value] = true;
    served[fleet[replica.deployment].model.value] = true;
  }
  for (std::size_t i = 0; i < fleet.deployments.size(); ++i) {
    if (!used[i])
      warnings.push_back(fmt::format("deployment {}: no replica runs it", fleet.deployments[i].name));
  }
  for (std::size_t i = 0; i < fleet.models.size(); ++i) {
    if (!served[i]) warnings.push_back(fmt::format("model {}: no replica serves it", fleet.models[i].name));
  }
}

/// Objectives are promises; a data sheet cannot make them.
void warn_of_data_sheets(const Fleet& fleet, std::vector<std::string>& warnings) {
  const bool has_objective = std::ranges::any_of(
      fleet.classes, [](const ServiceClass& each) { return each.ttft || each.tpot || each.deadline; });
  if (!has_objective) return;
  std::string names;
  double error = 0;
  for (const Deployment& deployment : fleet.deployments) {
    const SpeedBasis& basis = deployment.speed_basis;
    if (basis.tier != SpeedTier::kDataSheet || deployment.speed.step_floor <= 0) continue;
    names += (names.empty() ? "" : ", ") + deployment.name;
    error = basis.tpot_error.value_or(1);
  }
  if (names.empty()) return;
  warnings.push_back(fmt::format(
      "deployments {}: how fast they are is only known from data sheets, which are off by more than {:.0f} % "
      "half of the time; no class's objective can be promised on them until speed is measured",
      names, 100 * error));
}

void warn_of_prices(const Fleet& fleet, std::vector<std::string>& warnings) {
  for (const Model& model : fleet.models) {
    if (model.list_price) continue;
    warnings.push_back(
        fmt::format("model {}: no list_price, so tenants are charged nothing for it", model.name));
  }
}

/// Classes whose misses are sold for cheaper GPU seconds. A miss by the second is taken to be one second
/// late.
void warn_of_cheap_misses(const Fleet& fleet, std::vector<std::string>& warnings) {
  const auto spread = widest_price_spread(fleet);
  if (!spread) return;
  for (const ServiceClass& service_class : fleet.classes) {
    const Usd worth = service_class.miss_dollars(Seconds{1});
    const Usd least = least_miss_value(spread->gap, service_class.attainment);
    if (worth >= least) continue;
    warnings.push_back(fmt::format(
        "class {}: a miss is worth ${:.6g}, too little to hold {:.4g} % attainment: a request of {} prompt "
        "and {} "
        "output tokens of {} costs ${:.2g} more in pool {} than in {}, which buys {:.2g} % of misses at that "
        "worth; hold it with at least ${:.2g} = ${:.2g} / (1 - {:.4g})",
        service_class.name, worth.value, service_class.attainment * 100, kTypicalPrompt.value,
        kTypicalOutput.value, fleet[spread->model].name, spread->gap.value, fleet[spread->dearest].name,
        fleet[spread->cheapest].name, spread->gap.value / worth.value * 100, least.value, spread->gap.value,
        service_class.attainment));
  }
}

/// A class whose targets a typical request misses even on an idle replica: it is never placed in time, and
/// nothing of the fleet's money can change that.
void warn_of_unreachable_targets(const Fleet& fleet, std::vector<std::string>& warnings) {
  constexpr double kMost = 0.5;
  for (std::uint32_t one = 0; one < fleet.classes.size(); ++one) {
    const ServiceClass& objective = fleet.classes[one];
    if (objective.miss <= Usd{}) continue;
    for (std::uint32_t model = 0; model < fleet.models.size(); ++model) {
      const bool known = std::ranges::any_of(fleet.replicas, [&](const Replica& replica) {
        return fleet[replica.deployment].model == ModelIndex{model} && fleet.speed(replica).step_floor > 0;
      });
      if (!known) continue;
      RequestShape typical;
      typical.model = {model};
      typical.service_class = {one};
      typical.prompt = kTypicalPrompt;
      typical.expected_output = kTypicalOutput;
      const Waiting alone = waiting_of(typical, fleet, TimePoint{}, Seconds{0});
      const double missed = alone.unavoidable.value / objective.miss.value;
      if (missed <= kMost) continue;
      warnings.push_back(
          fmt::format("class {}: {:.0f} % of requests of {} prompt and {} output tokens of {} would miss its "
                      "targets even on "
                      "an idle replica; raise the targets, or keep the class off this model",
                      objective.name, 100 * missed, kTypicalPrompt.value, kTypicalOutput.value,
                      fleet.models[model].name));
    }
  }
}

/// Tenants whose own rules leave a model they may use without a pool.
void warn_of_shut_out_tenants(const Fleet& fleet, std::vector<std::string>& warnings) {
  for (std::uint32_t tenant = 0; tenant < fleet.tenants.size(); ++tenant) {
    const TenantRules& rules = fleet.tenants[tenant];
    for (std::uint32_t model = 0; model < fleet.models.size(); ++model) {
      const bool asked =
          rules.models.empty() || std::ranges::find(rules.models, ModelIndex{model}) != rules.models.end();
      bool served = false;
      bool open = false;
      RequestShape shape;
      shape.model = {model};
      shape.tenant = {tenant};
      for (const Replica& replica : fleet.replicas) {
        if (fleet[replica.deployment].model != shape.model) continue;
        served = true;
        open = open || violated_by_pool(shape, fleet, replica.pool) == Violation::kNone;
      }
      if (!asked || !served || open) continue;
      warnings.push_back(fmt::format(
          "tenant {}: its regions or max_usd_per_device_hour leave no pool for {}; such requests are refused",
          rules.name, fleet.models[model].name));
    }
  }
}

void warn_of_rules(const Config& config, std::vector<std::string>& warnings) {
  for (const RuleFinding& finding : review_rules(config.fleet.rules, config.fleet)) {
    const ConfigPlace& place = config.rule_places[finding.rule];
    const auto line = place.lines.find(finding.key);
    warnings.push_back(fmt::format("{}:{}: {}{}{}: rule {} {}", config.file,
                                   line == place.lines.end() ? place.line : line->second, place.path,
                                   finding.key.empty() ? "" : ".", finding.key,
                                   config.fleet.rules.rules()[finding.rule].name, finding.what));
  }
}

void warn_of_network(const Config& config, std::vector<std::string>& warnings) {
  if (!is_loopback(config.admin)) {
    warnings.push_back(fmt::format(
        "admin: {} can be reached from other hosts and asks for no key; keep it on a private network",
        config.admin.host));
  }
  // uvicorn, which serves vLLM, closes idle connections after five seconds: a request sent just then is lost.
  constexpr std::chrono::milliseconds kUvicornKeepAlive{5'000};
  const bool has_vllm = std::ranges::any_of(
      config.access, [](const ReplicaAccess& access) { return access.engine->name() == "vllm"; });
  if (has_vllm && config.limits.upstream_idle >= kUvicornKeepAlive) {
    warnings.push_back(
        "limits.upstream_idle: vLLM closes idle connections after 5 s by default; stay below that");
  }
}

}  // namespace

std::vector<std::string> config_warnings(const Config& config) {
  std::vector<std::string> warnings;
  warn_of_formats(config.fleet, warnings);
  warn_of_data_sheets(config.fleet, warnings);
  warn_of_unused(config.fleet, warnings);
  warn_of_prices(config.fleet, warnings);
  warn_of_cheap_misses(config.fleet, warnings);
  warn_of_unreachable_targets(config.fleet, warnings);
  warn_of_shut_out_tenants(config.fleet, warnings);
  warn_of_rules(config, warnings);
  warn_of_network(config, warnings);
  return warnings;
}

}  // namespace fareway
