#include "placement/rules/rule_set.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace fareway {
namespace {

RuleMask bit(std::size_t position) {
  return RuleMask{1} << position;
}

std::size_t first_of(RuleMask mask) {
  return static_cast<std::size_t>(std::countr_zero(mask));
}

template <class T>
bool names(const std::vector<T>& list, T one) {
  return list.empty() || std::ranges::find(list, one) != list.end();
}

/// For each value of a dimension, the rules whose list allows it.
template <class T>
std::vector<RuleMask> masks_by(std::span<const Rule> rules, std::size_t values,
                               std::vector<T> RuleCondition::* list) {
  std::vector<RuleMask> masks(values);
  for (std::uint32_t value = 0; value < values; ++value) {
    for (std::size_t i = 0; i < rules.size(); ++i)
      if (names(rules[i].when.*list, T{value})) masks[value] |= bit(i);
  }
  return masks;
}

bool prompt_matches(const Rule& rule, std::int64_t tokens) {
  return tokens >= rule.when.prompt_from.value &&
         (!rule.when.prompt_below || tokens < rule.when.prompt_below->value);
}

bool minute_matches(const Rule& rule, std::int64_t minute) {
  const auto within = [minute](const WeekWindow& window) {
    return minute >= window.from && minute < window.until;
  };
  return rule.when.times.empty() || std::ranges::any_of(rule.when.times, within);
}

}  // namespace

std::string_view to_string(RuleAction action) {
  switch (action) {
    case RuleAction::kRequire:
      return "require";
    case RuleAction::kPrefer:
      return "prefer";
    case RuleAction::kForbid:
      return "forbid";
    case RuleAction::kCap:
      return "cap";
  }
  return {};
}

std::uint32_t minute_of_week(WallTime now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const auto since_monday = std::chrono::weekday{day} - std::chrono::Monday;
  const auto minute = std::chrono::floor<std::chrono::minutes>(now - day + since_monday);
  return static_cast<std::uint32_t>(minute.count());
}

RuleSet::RuleSet(std::vector<Rule> rules, const Sizes& sizes)
    : rules_(std::move(rules)),
      by_model_(masks_by(rules_, sizes.models, &RuleCondition::models)),
      by_class_(masks_by(rules_, sizes.classes, &RuleCondition::classes)),
      by_tenant_(masks_by(rules_, sizes.tenants, &RuleCondition::tenants)),
      pools_(sizes.pools) {
  assert(rules_.size() <= kMostRules);
  std::vector<std::int64_t> prompts{0};
  std::vector<std::int64_t> minutes{0};
  for (const Rule& rule : rules_) {
    prompts.push_back(rule.when.prompt_from.value);
    if (rule.when.prompt_below) prompts.push_back(rule.when.prompt_below->value);
    for (const WeekWindow& window : rule.when.times)
      minutes.insert(minutes.end(), {std::int64_t{window.from}, std::int64_t{window.until}});
  }
  by_prompt_ = steps_over(std::move(prompts), prompt_matches);
  by_minute_ = steps_over(std::move(minutes), minute_matches);

  for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
    PoolMasks& masks = pools_[pool];
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const bool named = names(rules_[i].pools, PoolIndex{pool});
      const RuleAction action = rules_[i].action;
      if (named) masks.named |= bit(i);
      if (named ? action == RuleAction::kForbid : action == RuleAction::kRequire) masks.excluded |= bit(i);
      if (named && action == RuleAction::kPrefer) masks.preferred |= bit(i);
      if (named && action == RuleAction::kCap) masks.capped |= bit(i);
    }
  }
}

std::vector<RuleSet::Step> RuleSet::steps_over(std::vector<std::int64_t> breaks, Matches matches) const {
  std::ranges::sort(breaks);
  breaks.erase(std::ranges::unique(breaks).begin(), breaks.end());
  std::vector<Step> steps;
  for (const std::int64_t from : breaks) {
    Step step{.from = from, .mask = 0};
    for (std::size_t i = 0; i < rules_.size(); ++i)
      if (matches(rules_[i], from)) step.mask |= bit(i);
    steps.push_back(step);
  }
  return steps;
}

RuleMask RuleSet::at(const std::vector<Step>& steps, std::int64_t value) {
  const auto after = std::ranges::upper_bound(steps, value, {}, &Step::from);
  return after == steps.begin() ? RuleMask{} : std::prev(after)->mask;
}

RuleMask RuleSet::matching(const RuleSubject& subject, WallTime now) const {
  return rules_.empty() ? RuleMask{} : matching_at(subject, minute_of_week(now));
}

RuleMask RuleSet::matching_at(const RuleSubject& subject, std::uint32_t minute) const {
  return by_model_[subject.model.value] & by_class_[subject.service_class.value] &
         by_tenant_[subject.tenant.value] & at(by_prompt_, subject.prompt.value) & at(by_minute_, minute);
}

std::optional<std::size_t> RuleSet::excluding(RuleMask matched, PoolIndex pool,
                                              std::span<const std::uint32_t> in_flight) const {
  if (matched == 0) return std::nullopt;
  RuleMask excluded = matched & pools_[pool.value].excluded;
  for (RuleMask caps = capped(matched, pool); caps != 0; caps &= caps - 1) {
    const std::size_t cap = first_of(caps);
    const std::uint32_t counted = cap < in_flight.size() ? in_flight[cap] : 0;
    if (counted >= rules_[cap].most_in_flight) excluded |= bit(cap);
  }
  return excluded == 0 ? std::nullopt : std::optional(first_of(excluded));
}

std::optional<std::size_t> RuleSet::always_excluding(RuleMask matched, PoolIndex pool) const {
  if (matched == 0) return std::nullopt;
  const RuleMask excluded = matched & pools_[pool.value].excluded;
  return excluded == 0 ? std::nullopt : std::optional(first_of(excluded));
}

Usd RuleSet::preference(RuleMask matched, PoolIndex pool) const {
  Usd sum;
  if (matched == 0) return sum;
  for (RuleMask preferred = matched & pools_[pool.value].preferred; preferred != 0;
       preferred &= preferred - 1)
    sum += rules_[first_of(preferred)].preference;
  return sum;
}

RuleMask RuleSet::capped(RuleMask matched, PoolIndex pool) const {
  return matched == 0 ? RuleMask{} : matched & pools_[pool.value].capped;
}

std::vector<Tokens> RuleSet::prompt_breaks() const {
  std::vector<Tokens> breaks;
  breaks.reserve(by_prompt_.size());
  for (const Step& step : by_prompt_) breaks.push_back(Tokens{step.from});
  return breaks;
}

std::vector<std::uint32_t> RuleSet::minute_breaks() const {
  std::vector<std::uint32_t> breaks;
  for (const Step& step : by_minute_)
    if (step.from < kMinutesOfWeek) breaks.push_back(static_cast<std::uint32_t>(step.from));
  return breaks;
}

}  // namespace fareway
