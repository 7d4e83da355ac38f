#include "placement/rules/rule_set.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace fareway {
namespace {

using std::chrono_literals::operator""h;

constexpr RuleSet::Sizes kSizes{.models = 3, .classes = 3, .tenants = 3, .pools = 4};
constexpr WallTime kMonday{std::chrono::sys_days{std::chrono::November / 30 / 2026}};
constexpr PoolIndex kSmall{0};
constexpr PoolIndex kLarge{1};

RuleSubject subject(std::int64_t prompt, std::uint32_t model = 0) {
  return {.model = {model}, .service_class = {0}, .tenant = {0}, .prompt = {prompt}};
}

TEST(RuleSet, WithoutRulesExcludesNothing) {
  const RuleSet none({}, kSizes);
  const RuleMask matched = none.matching(subject(1000), kMonday);
  EXPECT_EQ(none.excluding(matched, kSmall, {}), std::nullopt);
  EXPECT_EQ(none.preference(matched, kSmall), Usd{});
}

TEST(RuleSet, RequiresPoolsFromAPromptLengthOn) {
  const RuleSet rules({{.name = "long prompts on large memory",
                        .action = RuleAction::kRequire,
                        .when = {.prompt_from = {32'000}},
                        .pools = {kLarge}}},
                      kSizes);
  const RuleMask shorter = rules.matching(subject(31'999), kMonday);
  const RuleMask longer = rules.matching(subject(32'000), kMonday);
  EXPECT_EQ(rules.excluding(shorter, kSmall, {}), std::nullopt);
  EXPECT_EQ(rules.excluding(longer, kSmall, {}), 0u);
  EXPECT_EQ(rules.excluding(longer, kLarge, {}), std::nullopt);
}

TEST(RuleSet, ForbidsByModelClassAndTenantTogether) {
  const RuleSet rules({{.name = "r",
                        .action = RuleAction::kForbid,
                        .when = {.models = {{1}}, .classes = {{0}, {2}}, .tenants = {{0}}},
                        .pools = {kSmall}}},
                      kSizes);
  const auto forbidden = [&](std::uint32_t model, std::uint32_t service_class, std::uint32_t tenant) {
    const RuleMask matched = rules.matching(
        {.model = {model}, .service_class = {service_class}, .tenant = {tenant}, .prompt = {1}}, kMonday);
    return rules.excluding(matched, kSmall, {}).has_value();
  };
  EXPECT_TRUE(forbidden(1, 0, 0));
  EXPECT_TRUE(forbidden(1, 2, 0));
  EXPECT_FALSE(forbidden(0, 0, 0));
  EXPECT_FALSE(forbidden(1, 1, 0));
  EXPECT_FALSE(forbidden(1, 0, 1));
}

TEST(RuleSet, NamesTheFirstOfSeveralThatExclude) {
  const RuleSet rules({{.name = "elsewhere", .action = RuleAction::kForbid, .pools = {kLarge}},
                       {.name = "first", .action = RuleAction::kForbid, .pools = {kSmall}},
                       {.name = "second", .action = RuleAction::kRequire, .pools = {kLarge}}},
                      kSizes);
  EXPECT_EQ(rules.excluding(rules.matching(subject(1), kMonday), kSmall, {}), 1u);
}

TEST(RuleSet, AddsUpPreferencesInDollars) {
  const RuleSet rules(
      {{.name = "a", .action = RuleAction::kPrefer, .pools = {kSmall, kLarge}, .preference = {0.001}},
       {.name = "b",
        .action = RuleAction::kPrefer,
        .when = {.models = {{1}}},
        .pools = {kSmall},
        .preference = {0.002}}},
      kSizes);
  EXPECT_EQ(rules.preference(rules.matching(subject(1, 0), kMonday), kSmall), Usd{0.001});
  EXPECT_EQ(rules.preference(rules.matching(subject(1, 1), kMonday), kSmall), Usd{0.003});
  EXPECT_EQ(rules.preference(rules.matching(subject(1, 1), kMonday), PoolIndex{2}), Usd{});
}

TEST(RuleSet, CapsWhatIsInFlightInItsPoolsTogether) {
  const RuleSet rules(
      {{.name = "cap", .action = RuleAction::kCap, .pools = {kSmall, kLarge}, .most_in_flight = 2}}, kSizes);
  const RuleMask matched = rules.matching(subject(1), kMonday);
  EXPECT_EQ(rules.capped(matched, kLarge), 1u);
  EXPECT_EQ(rules.capped(matched, PoolIndex{2}), 0u);
  const auto excluding = [&](std::uint32_t in_flight, PoolIndex pool) {
    return rules.excluding(matched, pool, std::vector{in_flight});
  };
  EXPECT_EQ(excluding(1, kLarge), std::nullopt);
  EXPECT_EQ(excluding(2, kLarge), 0u);
  EXPECT_EQ(excluding(2, PoolIndex{2}), std::nullopt);
  EXPECT_EQ(rules.always_excluding(matched, kLarge), std::nullopt);
}

TEST(RuleSet, KnowsTheMinuteOfTheWeekInUtc) {
  EXPECT_EQ(minute_of_week(kMonday), 0u);
  EXPECT_EQ(minute_of_week(kMonday - std::chrono::nanoseconds{1}), kMinutesOfWeek - 1) << "Sunday 23:59";
  EXPECT_EQ(minute_of_week(kMonday + 30h), 30u * 60);
}

TEST(RuleSet, HoldsOnlyInItsHours) {
  const RuleSet rules({{.name = "office hours",
                        .action = RuleAction::kForbid,
                        .when = {.times = {{8 * 60, 18 * 60}}},
                        .pools = {kSmall}}},
                      kSizes);
  EXPECT_EQ(rules.matching(subject(1), kMonday + 7h), 0u);
  EXPECT_EQ(rules.matching(subject(1), kMonday + 8h), 1u);
  EXPECT_EQ(rules.matching(subject(1), kMonday + 18h), 0u);
  EXPECT_EQ(rules.matching(subject(1), kMonday + 32h), 0u) << "Monday's hours are not Tuesday's";
}

// Compiled masks against the rules read one by one.

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  template <class T>
  std::vector<T> some() {
    std::vector<T> list;
    for (std::uint32_t i = below(3); i > 0; --i) list.push_back(T{below(3)});
    return list;
  }
  Rule rule() {
    Rule rule{.name = "r", .action = static_cast<RuleAction>(below(4))};
    rule.when = {.models = some<ModelIndex>(),
                 .classes = some<ClassIndex>(),
                 .tenants = some<TenantIndex>(),
                 .prompt_from = {below(50)}};
    if (below(2) == 0) rule.when.prompt_below = Tokens{rule.when.prompt_from.value + 1 + below(30)};
    for (std::uint32_t i = below(3); i > 0; --i) {
      const std::uint32_t from = below(kMinutesOfWeek);
      rule.when.times.push_back({from, from + 1 + below(kMinutesOfWeek - from)});
    }
    rule.pools = some<PoolIndex>();
    rule.preference = {0.001 * (1 + below(9))};
    rule.most_in_flight = below(4);
    return rule;
  }

 private:
  std::mt19937_64 random_;
};

template <class T>
bool allows(const std::vector<T>& list, T one) {
  return list.empty() || std::ranges::find(list, one) != list.end();
}

bool plainly_matches(const Rule& rule, const RuleSubject& one, std::uint32_t minute) {
  const bool in_time =
      rule.when.times.empty() || std::ranges::any_of(rule.when.times, [minute](const WeekWindow& window) {
        return window.from <= minute && minute < window.until;
      });
  return allows(rule.when.models, one.model) && allows(rule.when.classes, one.service_class) &&
         allows(rule.when.tenants, one.tenant) && one.prompt >= rule.when.prompt_from &&
         (!rule.when.prompt_below || one.prompt < *rule.when.prompt_below) && in_time;
}

TEST(RuleSet, AgreesWithReadingTheRulesOneByOne) {
  Draw draw(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<Rule> list(draw.below(12));
    for (Rule& rule : list) rule = draw.rule();
    const RuleSet rules(list, kSizes);
    std::vector<std::uint32_t> in_flight(list.size());
    for (auto& count : in_flight) count = draw.below(4);
    for (int i = 0; i < 20; ++i) {
      const RuleSubject one{{draw.below(3)}, {draw.below(3)}, {draw.below(3)}, {draw.below(90)}};
      const std::uint32_t minute = draw.below(kMinutesOfWeek);
      const PoolIndex pool{draw.below(4)};
      const RuleMask matched = rules.matching_at(one, minute);
      std::optional<std::size_t> excluding;
      double preference = 0;
      for (std::size_t r = 0; r < list.size(); ++r) {
        const bool matches = plainly_matches(list[r], one, minute);
        ASSERT_EQ((matched >> r & 1u) != 0, matches) << "round " << round << ", rule " << r;
        if (!matches) continue;
        const bool named = allows(list[r].pools, pool);
        const bool excludes =
            (list[r].action == RuleAction::kRequire && !named) ||
            (list[r].action == RuleAction::kForbid && named) ||
            (list[r].action == RuleAction::kCap && named && in_flight[r] >= list[r].most_in_flight);
        if (excludes && !excluding) excluding = r;
        if (named && list[r].action == RuleAction::kPrefer) preference += list[r].preference.value;
      }
      EXPECT_EQ(rules.excluding(matched, pool, in_flight), excluding) << round;
      EXPECT_DOUBLE_EQ(rules.preference(matched, pool).value, preference) << round;
    }
  }
}

}  // namespace
}  // namespace fareway
