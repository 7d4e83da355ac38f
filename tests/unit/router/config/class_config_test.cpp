// Classes, how they are chosen, and the warning of misses that are too cheap.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/config/config.hpp"
#include "tests/unit/router/config/config_text.hpp"

namespace fareway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::replaced;
using testing::small_config;

Config with(const std::string& more) {
  return parse_config(small_config() + more, "test.yaml");
}

TEST(ClassConfig, ReadsMissesByTheSecondAndHowTpotIsCounted) {
  const auto text = small_config() + R"(classes:
  - {name: standard, tpot: 50ms, tpot_over_tokens: 20, miss_usd_per_second: 0.002, attainment: 0.95}
)";
  const ServiceClass standard = parse_config(text, "test.yaml").fleet.classes[0];
  EXPECT_EQ(standard.tpot_over, Tokens{20});
  EXPECT_EQ(standard.miss, Usd{0});
  EXPECT_EQ(standard.miss_per_second, Usd{0.002});
  EXPECT_EQ(standard.attainment, 0.95);
}

TEST(ClassConfig, CountsTpotOverFiftyTokensUnlessTold) {
  for (const ServiceClass& service_class : with("").fleet.classes)
    EXPECT_EQ(service_class.tpot_over, Tokens{50}) << service_class.name;
}

TEST(ClassConfig, WantsToKnowWhatAMissIsWorth) {
  EXPECT_THAT(
      error_of(small_config() + "classes: [{name: standard, tpot: 50ms}]\n"),
      HasSubstr("classes[0]: says nothing of what a miss is worth; give miss_usd, miss_usd_per_second"));
  EXPECT_THAT(
      error_of(small_config() + "classes: [{name: standard, tpot: 50ms, miss_usd: 1, attainment: 1}]\n"),
      HasSubstr("classes[0].attainment: must be more than 0 and less than 1"));
  EXPECT_THAT(
      error_of(small_config() + "classes: [{name: standard, ttft: 1s, miss_usd: 1, tpot_over_tokens: 9}]\n"),
      HasSubstr("classes[0].tpot_over_tokens: says how tpot is counted; give tpot too"));
}

TEST(ClassConfig, ChoosesByPathAndModelInTheOrderGiven) {
  const Config config = with(R"(class_defaults:
  - {path: /v1/embeddings, model: llama, class: batch}
  - {model: llama, class: interactive}
)");
  ASSERT_EQ(config.class_defaults.size(), 2u);
  EXPECT_TRUE(config.class_defaults[0].applies("/v1/embeddings", ModelIndex{0}));
  EXPECT_FALSE(config.class_defaults[0].applies("/v1/responses", ModelIndex{0}));
  EXPECT_FALSE(config.class_defaults[1].applies("/v1/embeddings", ModelIndex{1}));
  EXPECT_EQ(config.fleet[config.class_defaults[0].service_class].name, "batch");
}

TEST(ClassConfig, RefusesDefaultsThatApplyToNothingOrEverything) {
  EXPECT_THAT(error_of(small_config() + "class_defaults: [{class: batch}]\n"),
              HasSubstr("class_defaults[0]: applies to every request"));
  EXPECT_THAT(
      error_of(small_config() + "class_defaults: [{path: /v1/embedings, class: batch}]\n"),
      HasSubstr("class_defaults[0].path: \"/v1/embedings\" is no path of the client API; did you mean "
                "\"/v1/embeddings\"?"));
}

TEST(ClassConfig, KeepsAKeyToItsClasses) {
  const auto text = replaced(small_config(), "default_class: standard",
                             "default_class: standard\n        classes: [standard, batch]");
  const Config config = parse_config(text, "test.yaml");
  EXPECT_FALSE(config.keys[0].allows(ClassIndex{0})) << "interactive";
  EXPECT_TRUE(config.keys[0].allows(ClassIndex{2}));
  EXPECT_TRUE(with("").keys[0].allows(ClassIndex{0})) << "without a list, all";
  EXPECT_THAT(error_of(replaced(small_config(), "default_class: standard",
                                "default_class: standard\n        classes: [batch]")),
              HasSubstr("tenants[0].keys[0].default_class: is not among the classes this key may ask for"));
}

TEST(ClassConfig, WarnsOfMissesThatAreSoldForCheaperGpuSeconds) {
  const std::string two_pools = replaced(small_config(), "tenants:\n", R"(  - name: east
    device: MI300X
    capacity: on_demand
    usd_per_device_hour: 250
    replicas:
      - {name: east-1, engine: vllm, endpoint: "http://10.0.0.2:8000", deployment: llama-mi300x}
tenants:
)");
  const auto warnings_with = [&](const std::string& miss) {
    return config_warnings(parse_config(
        two_pools + "classes: [{name: standard, tpot: 50ms, miss_usd: " + miss + "}]\n", "test.yaml"));
  };
  EXPECT_THAT(warnings_with("0.0001"),
              Contains(AllOf(HasSubstr("class standard: a miss is worth $0.0001, too little to hold 99 %"),
                             HasSubstr("1000 prompt and 200 output tokens of llama"),
                             HasSubstr("more in pool east than in west"), HasSubstr("/ (1 - 0.99)"))));
  EXPECT_THAT(warnings_with("1000"), Not(Contains(HasSubstr("a miss is worth"))));
}

TEST(ClassConfig, WarnsOfTargetsThatNoIdleReplicaMeets) {
  const auto warnings_with = [&](const std::string& tpot) {
    return config_warnings(parse_config(
        small_config() + "classes: [{name: standard, tpot: " + tpot + ", miss_usd: 1}]\n", "test.yaml"));
  };
  EXPECT_THAT(
      warnings_with("1us"),
      Contains(HasSubstr("class standard: 100 % of requests of 1000 prompt and 200 output tokens of llama "
                         "would miss its targets even on an idle replica")));
  EXPECT_THAT(warnings_with("10s"), Not(Contains(HasSubstr("idle replica"))));
}

TEST(TenantConfig, WarnsOfATenantWhoseOwnRulesLeaveAModelWithoutAPool) {
  const std::string text =
      replaced(small_config(), "name: product\n", "name: product\n    max_usd_per_device_hour: 1\n");
  EXPECT_THAT(
      config_warnings(parse_config(text, "test.yaml")),
      Contains(HasSubstr("tenant product: its regions or max_usd_per_device_hour leave no pool for llama")));
  EXPECT_THAT(config_warnings(parse_config(small_config(), "test.yaml")),
              Not(Contains(HasSubstr("leave no pool"))));
}

}  // namespace
}  // namespace fareway
