// Rules in the configuration, and what `check` says of those their authors cannot have meant.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/config/config.hpp"
#include "tests/unit/router/config/config_text.hpp"

namespace fareway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::replaced;
using testing::small_config;

/// Pools west (MI300X) and east, and a second model that runs in east only. 41 lines.
std::string two_pools() {
  return replaced(small_config(), "tenants:\n", R"(  - name: east
    device: MI300X
    capacity: on_demand
    usd_per_device_hour: 2.50
    replicas:
      - {name: east-1, engine: vllm, endpoint: "http://10.0.0.2:8000", deployment: llama-mi300x}
tenants:
)");
}

std::vector<std::string> warnings_of(const std::string& rules) {
  return config_warnings(parse_config(two_pools() + rules, "fleet.yaml"));
}

std::string rule_error(const std::string& rule) {
  return error_of(two_pools() + "rules: [" + rule + "]\n");
}

TEST(RuleConfig, ReadsEveryCondition) {
  const Config config = parse_config(two_pools() + R"(rules:
  - name: long
    action: prefer
    usd: 0.002
    models: [llama]
    classes: [standard, batch]
    tenants: [product]
    prompt_tokens_from: 32000
    prompt_tokens_below: 100000
    times: ["mon-fri 08:00-18:00", "sat"]
    pools: [east]
)",
                                     "fleet.yaml");
  ASSERT_EQ(config.fleet.rules.rules().size(), 1u);
  const Rule& rule = config.fleet.rules.rules()[0];
  EXPECT_EQ(rule.action, RuleAction::kPrefer);
  EXPECT_EQ(rule.preference, Usd{0.002});
  EXPECT_EQ(rule.when.classes.size(), 2u);
  EXPECT_EQ(rule.when.prompt_from, Tokens{32'000});
  EXPECT_EQ(rule.when.prompt_below, Tokens{100'000});
  EXPECT_EQ(rule.when.times.size(), 6u) << "five working days and Saturday";
  EXPECT_EQ(rule.pools, std::vector{PoolIndex{1}});
}

TEST(RuleConfig, RefusesWhatDoesNotBelongToTheAction) {
  EXPECT_THAT(rule_error("{name: r, action: prefer, pools: [east]}"),
              HasSubstr("rules[0].usd: must be given"));
  EXPECT_THAT(rule_error("{name: r, action: forbid, pools: [east], usd: 1}"),
              HasSubstr("rules[0].usd: goes only with action: prefer"));
  EXPECT_THAT(rule_error("{name: r, action: cap, pools: [east]}"),
              HasSubstr("rules[0].max_in_flight: must be"));
  EXPECT_THAT(rule_error("{name: r, action: require}"), HasSubstr("rules[0].pools: is missing"));
  EXPECT_THAT(rule_error("{name: r, action: allow}"), HasSubstr("none of require, prefer, forbid, cap"));
  EXPECT_THAT(rule_error("{name: r, action: forbid, pools: [eats]}"), HasSubstr("known: west, east"));
  EXPECT_THAT(rule_error("{name: r, action: forbid, prompt_tokens_from: 9, prompt_tokens_below: 9}"),
              HasSubstr("rules[0].prompt_tokens_below: is not above prompt_tokens_from"));
  EXPECT_THAT(
      rule_error("{name: r, action: forbid, pools: [east]}, {name: r, action: forbid, pools: [west]}"),
      HasSubstr("a second rule is called \"r\""));
}

TEST(RuleConfig, AllowsSixtyFourRules) {
  std::string rules = "rules:\n";
  for (int i = 0; i < 64; ++i)
    rules += "  - {name: r" + std::to_string(i) + ", action: cap, max_in_flight: 1}\n";
  EXPECT_EQ(parse_config(two_pools() + rules, "f").fleet.rules.rules().size(), 64u);
  EXPECT_THAT(error_of(two_pools() + rules + "  - {name: more, action: cap, max_in_flight: 1}\n"),
              HasSubstr("rules: has 65 rules; at most 64 are allowed"));
}

TEST(RuleCheck, SaysNothingOfRulesThatWork) {
  EXPECT_THAT(warnings_of(R"(rules:
  - {name: long, action: require, prompt_tokens_from: 32000, pools: [east]}
  - {name: nights, action: forbid, times: ["22:00-06:00"], pools: [west]}
  - {name: few, action: cap, max_in_flight: 4, classes: [batch]}
)"),
              Not(Contains(HasSubstr("rule"))));
}

TEST(RuleCheck, FindsAConditionNoReplicaCanMeet) {
  EXPECT_THAT(
      warnings_of("rules: [{name: huge, action: forbid, prompt_tokens_from: 131072, pools: [east]}]\n"),
      Contains(HasSubstr("fleet.yaml:37: rules[0].prompt_tokens_from: rule huge can never match: no replica "
                         "of its models holds 131072 tokens; the longest holds 131072")));
}

TEST(RuleCheck, FindsAClassLeftWithoutAPool) {
  const auto warnings = warnings_of(R"(rules:
  - {name: not-west, action: forbid, classes: [batch], pools: [west]}
  - name: not-east
    action: forbid
    prompt_tokens_from: 1000
    pools: [east]
)");
  EXPECT_THAT(warnings,
              Contains(AllOf(HasSubstr("fleet.yaml:42: rules[1].pools: rule not-east leaves class batch "
                                       "without a pool for llama together with not-west"),
                             HasSubstr("prompts from 1000 tokens"))));
  EXPECT_THAT(warnings, Each(Not(HasSubstr("class standard"))));
}

TEST(RuleCheck, FindsHoursInWhichNothingIsLeft) {
  EXPECT_THAT(
      warnings_of(R"(rules:
  - {name: day, action: forbid, times: ["08:00-20:00"], pools: [west]}
  - {name: weekend, action: require, times: ["sat"], pools: [west]}
)"),
      Contains(HasSubstr("rule weekend leaves class interactive without a pool for llama together with day "
                         "(tenant product, Saturday 08:00 UTC)")));
}

TEST(RuleCheck, FindsARuleThatChangesNothing) {
  const std::string other_model = replaced(two_pools(), "deployments:\n", R"(  - name: idle
    total_parameters: 8000000000
    active_parameters: 8000000000
    layers: 32
    hidden_size: 4096
    kv_heads: 8
    kv_per_token: 128KiB
    attention_flops_per_pair: 524288
    context_limit: 131072
deployments:
)");
  const auto warnings = config_warnings(
      parse_config(other_model + "rules: [{name: r, action: forbid, models: [idle], pools: [east]}]\n", "f"));
  EXPECT_THAT(warnings, Contains(HasSubstr("rules[0].models: rule r can never match: no replica serves")));
}

TEST(RuleCheck, MindsWhatTenantsMayUse) {
  const std::string westerner =
      replaced(replaced(two_pools(), "  - name: product\n", "  - name: product\n    regions: [us-west]\n"),
               "  - name: west\n", "  - name: west\n    region: us-west\n");
  const auto warnings = config_warnings(parse_config(
      westerner + "rules: [{name: r, action: prefer, usd: 1, tenants: [product], pools: [east]}]\n", "f"));
  EXPECT_THAT(warnings,
              Contains(HasSubstr("rules[0].pools: rule r changes nothing: none of its pools could")));
}

}  // namespace
}  // namespace fareway
