#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "router/config/draft.hpp"
#include "router/config/value_parsers.hpp"
#include "router/config/week_text.hpp"

namespace fareway {
namespace {

constexpr std::array<std::pair<std::string_view, RuleAction>, 4> kActions{{{"require", RuleAction::kRequire},
                                                                           {"prefer", RuleAction::kPrefer},
                                                                           {"forbid", RuleAction::kForbid},
                                                                           {"cap", RuleAction::kCap}}};
constexpr std::uint32_t kMostInFlight = 1'000'000;

template <class T>
std::vector<T> named(Section& section, std::string_view key, const Names& names) {
  std::vector<T> found;
  for (const std::uint32_t position : section.values(key, names)) found.push_back(T{position});
  return found;
}

Checked<std::vector<WeekWindow>> week_windows(const YamlNode& node) {
  const Checked<std::string> text = text_value(node);
  if (!text) return text.error();
  return parse_week_windows(*text);
}

RuleCondition read_condition(Section& section, const ConfigDraft& draft) {
  RuleCondition when;
  when.models = named<ModelIndex>(section, "models", draft.models);
  when.classes = named<ClassIndex>(section, "classes", draft.classes);
  when.tenants = named<TenantIndex>(section, "tenants", draft.tenants);
  section.read_into("prompt_tokens_from", tokens(), when.prompt_from);
  when.prompt_below = section.optional("prompt_tokens_below", tokens());
  for (const auto& windows : section.values("times", week_windows))
    when.times.insert(when.times.end(), windows.begin(), windows.end());
  if (section.ok() && when.prompt_below && *when.prompt_below <= when.prompt_from)
    section.report("prompt_tokens_below", "is not above prompt_tokens_from, so the rule could never match");
  return when;
}

/// A key that goes with one action only.
void check_belongs(Section& section, std::string_view key, bool wanted, std::string_view action) {
  if (!section.ok() || section.has(key) == wanted) return;
  section.report(key, fmt::format("{} with action: {}", wanted ? "must be given" : "goes only", action));
}

Rule read_rule(Section& section, ConfigDraft& draft) {
  Rule rule;
  rule.name = section.required("name", name_value);
  rule.action = section.required("action", one_of(kActions));
  rule.when = read_condition(section, draft);
  rule.pools = named<PoolIndex>(section, "pools", draft.pools);
  rule.preference = to_usd(section.optional("usd", positive(usd_value)).value_or(NanoUsd{}));
  section.read_into("max_in_flight", whole_number<std::uint32_t>(1, kMostInFlight), rule.most_in_flight);
  check_belongs(section, "usd", rule.action == RuleAction::kPrefer, "prefer");
  check_belongs(section, "max_in_flight", rule.action == RuleAction::kCap, "cap");
  const bool needs_pools = rule.action == RuleAction::kRequire || rule.action == RuleAction::kPrefer;
  if (section.ok() && needs_pools && rule.pools.empty())
    section.report("pools", fmt::format("is missing; name the pools to {}", to_string(rule.action)));
  return rule;
}

}  // namespace

void read_rules(Section& top, ConfigDraft& draft) {
  std::vector<Rule> rules;
  Names names{"rule"};
  top.for_each("rules", [&](Section& section) {
    Rule rule = read_rule(section, draft);
    names.define(section, "name", rule.name, section.ok());
    draft.config.rule_places.push_back(section.place());
    rules.push_back(std::move(rule));
  });
  if (rules.size() > RuleSet::kMostRules) {
    top.report("rules",
               fmt::format("has {} rules; at most {} are allowed", rules.size(), RuleSet::kMostRules));
    return;
  }
  Fleet& fleet = draft.config.fleet;
  fleet.rule_in_flight.assign(rules.size(), 0);
  fleet.rules = RuleSet(std::move(rules), {.models = fleet.models.size(),
                                           .classes = fleet.classes.size(),
                                           .tenants = fleet.tenants.size(),
                                           .pools = fleet.pools.size()});
}

}  // namespace fareway
