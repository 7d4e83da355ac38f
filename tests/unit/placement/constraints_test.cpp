#include "placement/constraints/constraints.hpp"

#include <gtest/gtest.h>

#include "placement/decision.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;
using testing::request;

class Constraints : public ::testing::Test {
 protected:
  FleetBuilder builder;
  ReplicaIndex replica =
      builder.add({.name = "a", .usd_per_hour = 3, .context_limit = {1000}, .region = "eu"});
  RequestShape shape = request(100, 10);

  std::string_view violated() {
    const Violation violation = first_violated(shape, builder.fleet(), builder.fleet()[replica]);
    EXPECT_EQ(decide(shape, builder.fleet(), {}, kNow).candidates.front().excluded_by, to_string(violation));
    return to_string(violation);
  }
  TenantRules& rules() { return builder.fleet().tenants[0]; }
};

TEST_F(Constraints, AllHoldForAnOrdinaryRequest) {
  EXPECT_EQ(violated(), "");
}

TEST_F(Constraints, PromptAndLimitTogetherMustFitTheContext) {
  shape.prompt = {999};
  EXPECT_EQ(violated(), "") << "999 and one token of answer are 1,000";
  shape.output_limit = Tokens{2};
  EXPECT_EQ(violated(), "context");
}

TEST_F(Constraints, AReplicaOutOfRotationTakesNothing) {
  builder.fleet().replicas[0].health.connection_failed(kNow);
  EXPECT_EQ(violated(), "health");
}

TEST_F(Constraints, AnEngineThatSleepsTakesNothing) {
  builder.fleet().replicas[0].reading = LoadReading{.asleep = true};
  EXPECT_EQ(violated(), "asleep");
}

TEST_F(Constraints, AReplicaThatIsDrainedTakesNothing) {
  builder.fleet().replicas[0].draining = true;
  EXPECT_EQ(violated(), "draining");
}

TEST_F(Constraints, ACheckpointInTheWrongFormatIsNeverUsed) {
  builder.fleet().deployments[0].format_support = FormatSupport::kWrong;
  EXPECT_EQ(violated(), "format");
  builder.fleet().deployments[0].format_support = FormatSupport::kEmulated;
  EXPECT_EQ(violated(), "") << "an emulated one is slow, not wrong";
}

TEST_F(Constraints, TheOperatorsRulesBindAndAreNamed) {
  builder.fleet().rules = RuleSet({{.name = "not here", .action = RuleAction::kForbid, .pools = {{0}}},
                                   {.name = "three", .action = RuleAction::kCap, .most_in_flight = 3}},
                                  {.models = 1, .classes = 2, .tenants = 1, .pools = 1});
  EXPECT_EQ(violated(), "") << "no rule speaks of this request";
  shape.rules = 0b01;
  EXPECT_EQ(violated(), "rule");
  const Decision decision = decide(shape, builder.fleet(), {}, kNow);
  EXPECT_EQ(decision.candidates[0].rule, "not here");
  EXPECT_TRUE(decision.hopeless());
  shape.rules = 0b10;
  builder.fleet().rule_in_flight = {0, 2};
  EXPECT_EQ(violated(), "");
  builder.fleet().rule_in_flight = {0, 3};
  EXPECT_EQ(violated(), "rule_cap");
}

TEST_F(Constraints, TheTenantsRulesBind) {
  rules().regions = {"us"};
  EXPECT_EQ(violated(), "region");
  rules().regions = {"us", "eu"};
  rules().max_per_device_hour = NanoUsdPerHour{3'000'000'000};
  EXPECT_EQ(violated(), "") << "a ceiling includes itself";
  rules().max_per_device_hour = NanoUsdPerHour{2'999'999'999};
  EXPECT_EQ(violated(), "price_ceiling");
  rules().models = {ModelIndex{5}};
  EXPECT_EQ(violated(), "tenant");
}

TEST_F(Constraints, TheMostLastingReasonIsNamedFirst) {
  shape.prompt = {5000};
  builder.fleet().replicas[0].health.connection_failed(kNow);
  EXPECT_EQ(violated(), "context");
  EXPECT_TRUE(decide(shape, builder.fleet(), {}, kNow).hopeless());
}

TEST_F(Constraints, AFleetThatIsDownIsNotHopeless) {
  builder.fleet().replicas[0].health.connection_failed(kNow);
  const Decision decision = decide(shape, builder.fleet(), {}, kNow);
  EXPECT_FALSE(decision.chosen);
  EXPECT_FALSE(decision.hopeless());
}

}  // namespace
}  // namespace fareway
