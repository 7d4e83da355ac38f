#include "router/config/rule_review.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace fareway {
namespace {

/// What a model's replicas in one pool hold at most; 0 where none runs there.
using ContextByPool = std::vector<Tokens>;

ContextByPool context_by_pool(const Fleet& fleet, ModelIndex model) {
  ContextByPool longest(fleet.pools.size());
  for (const Replica& replica : fleet.replicas) {
    const Deployment& deployment = fleet[replica.deployment];
    if (deployment.model != model) continue;
    longest[replica.pool.value] = std::max(longest[replica.pool.value], deployment.context_limit);
  }
  return longest;
}

bool pool_open(const TenantRules& tenant, const Pool& pool) {
  const bool in_region =
      tenant.regions.empty() || std::ranges::find(tenant.regions, pool.region) != tenant.regions.end();
  return in_region && (!tenant.max_per_device_hour || pool.per_device_hour <= *tenant.max_per_device_hour);
}

bool may_ask(const TenantRules& tenant, ModelIndex model) {
  return tenant.models.empty() || std::ranges::find(tenant.models, model) != tenant.models.end();
}

std::string minute_text(std::uint32_t minute) {
  constexpr std::array kDays{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  return fmt::format("{} {:02}:{:02} UTC", kDays[minute / 1440], minute / 60 % 24, minute % 60);
}

class Review {
 public:
  Review(const RuleSet& rules, const Fleet& fleet) : rules_(rules), fleet_(fleet) {}

  std::vector<RuleFinding> run() {
    for (std::uint32_t model = 0; model < fleet_.models.size(); ++model) visit_model(ModelIndex{model});
    for (std::size_t i = 0; i < rules_.rules().size(); ++i) judge(i);
    std::ranges::stable_sort(findings_, {}, &RuleFinding::rule);
    return std::move(findings_);
  }

 private:
  void visit_model(ModelIndex model) {
    const ContextByPool contexts = context_by_pool(fleet_, model);
    for (const std::uint32_t tenant : kinds_of_tenants())
      for (std::uint32_t c = 0; c < fleet_.classes.size(); ++c)
        for (const Tokens prompt : rules_.prompt_breaks())
          for (const std::uint32_t minute : rules_.minute_breaks())
            visit({.model = model, .service_class = {c}, .tenant = {tenant}, .prompt = prompt}, minute,
                  contexts);
  }

  /// One tenant for each combination of the rules that name it and of its own limits.
  std::vector<std::uint32_t> kinds_of_tenants() const {
    std::set<std::tuple<RuleMask, std::vector<ModelIndex>, std::vector<std::string>, std::int64_t>> seen;
    std::vector<std::uint32_t> kinds;
    for (std::uint32_t i = 0; i < fleet_.tenants.size(); ++i) {
      const TenantRules& tenant = fleet_.tenants[i];
      RuleMask named = 0;
      for (std::size_t rule = 0; rule < rules_.rules().size(); ++rule) {
        const auto& list = rules_.rules()[rule].when.tenants;
        if (std::ranges::find(list, TenantIndex{i}) != list.end()) named |= RuleMask{1} << rule;
      }
      const auto ceiling = tenant.max_per_device_hour.value_or(NanoUsdPerHour{-1}).value;
      if (seen.emplace(named, tenant.models, tenant.regions, ceiling).second) kinds.push_back(i);
    }
    return kinds;
  }

  void visit(const RuleSubject& subject, std::uint32_t minute, const ContextByPool& contexts) {
    const TenantRules& tenant = fleet_[subject.tenant];
    if (!may_ask(tenant, subject.model)) return;
    const RuleMask matched = rules_.matching_at(subject, minute);
    RuleMask excluding = 0;
    bool served = false;
    bool left = false;
    for (std::uint32_t i = 0; i < fleet_.pools.size(); ++i) {
      const PoolIndex pool{i};
      const bool serves =
          contexts[i].value > 0 && subject.prompt < contexts[i] && pool_open(tenant, fleet_[pool]);
      if (!serves) continue;
      served = true;
      matters_ |= matched & (rules_.speaking_of(pool) | required_elsewhere(matched, pool));
      if (const auto rule = rules_.always_excluding(matched, pool)) {
        excluding |= RuleMask{1} << *rule;
      } else {
        left = true;
      }
    }
    if (!served) return;
    matches_ |= matched;
    if (!left) say_none_left(excluding, subject, minute);
  }

  /// A require that names other pools changes something here: it keeps requests out.
  RuleMask required_elsewhere(RuleMask matched, PoolIndex pool) const {
    RuleMask mask = 0;
    for (RuleMask left = matched & ~rules_.speaking_of(pool); left != 0; left &= left - 1) {
      const auto rule = static_cast<std::size_t>(std::countr_zero(left));
      if (rules_.rules()[rule].action == RuleAction::kRequire) mask |= RuleMask{1} << rule;
    }
    return mask;
  }

  /// Once for each rule, class and model: the last rule that took part is where its author would look.
  void say_none_left(RuleMask excluding, const RuleSubject& subject, std::uint32_t minute) {
    const auto rule = static_cast<std::size_t>(63 - std::countl_zero(excluding));
    if (!said_.emplace(rule, subject.service_class, subject.model).second) return;
    std::string others;
    for (RuleMask left = excluding & ~(RuleMask{1} << rule); left != 0; left &= left - 1) {
      others += others.empty() ? " together with " : ", ";
      others += rules_.rules()[static_cast<std::size_t>(std::countr_zero(left))].name;
    }
    std::string which = fmt::format("tenant {}", fleet_[subject.tenant].name);
    if (subject.prompt.value > 0) which += fmt::format(", prompts from {} tokens", subject.prompt.value);
    if (rules_.minute_breaks().size() > 1) which += ", " + minute_text(minute);
    findings_.push_back(
        {.rule = rule,
         .key = "pools",
         .what = fmt::format("leaves class {} without a pool for {}{} ({}); such requests are refused",
                             fleet_[subject.service_class].name, fleet_[subject.model].name, others, which)});
  }

  void judge(std::size_t position) {
    const Rule& rule = rules_.rules()[position];
    const RuleMask mask = RuleMask{1} << position;
    if ((matches_ & mask) == 0) {
      findings_.push_back(why_no_match(position, rule));
    } else if ((matters_ & mask) == 0) {
      findings_.push_back({.rule = position,
                           .key = "pools",
                           .what = "changes nothing: none of its pools could serve a request it matches"});
    }
  }

  RuleFinding why_no_match(std::size_t position, const Rule& rule) const {
    Tokens longest{0};
    for (const Replica& replica : fleet_.replicas) {
      const Deployment& deployment = fleet_[replica.deployment];
      const auto& models = rule.when.models;
      if (models.empty() || std::ranges::find(models, deployment.model) != models.end())
        longest = std::max(longest, deployment.context_limit);
    }
    if (longest.value == 0)
      return {.rule = position, .key = "models", .what = "can never match: no replica serves these models"};
    if (rule.when.prompt_from >= longest) {
      return {.rule = position,
              .key = "prompt_tokens_from",
              .what = fmt::format(
                  "can never match: no replica of its models holds {} tokens; the longest holds {}",
                  rule.when.prompt_from.value, longest.value)};
    }
    return {.rule = position,
            .key = {},
            .what = "can never match: its tenants may not use its models in any pool that serves them"};
  }

  const RuleSet& rules_;
  const Fleet& fleet_;
  RuleMask matches_{0};
  RuleMask matters_{0};
  std::set<std::tuple<std::size_t, ClassIndex, ModelIndex>> said_;
  std::vector<RuleFinding> findings_;
};

}  // namespace

std::vector<RuleFinding> review_rules(const RuleSet& rules, const Fleet& fleet) {
  return rules.empty() ? std::vector<RuleFinding>{} : Review(rules, fleet).run();
}

}  // namespace fareway
