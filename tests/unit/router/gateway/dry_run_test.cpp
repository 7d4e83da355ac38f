#include "router/gateway/dry_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using ::testing::HasSubstr;
using testing::kNow;

class DryRun : public ::testing::Test {
 protected:
  DryRun() {
    builder.add({.name = "cheap", .usd_per_hour = 3.6});
    builder.add({.name = "dear", .usd_per_hour = 36});
    config.fleet = builder.fleet();
    config.keys = {{.id = "web", .sha256 = {}, .tenant = {0}, .default_class = FleetBuilder::kInteractive},
                   {.id = "night", .sha256 = {}, .tenant = {0}, .default_class = FleetBuilder::kBatch}};
    config.keys[1].classes = {FleetBuilder::kBatch};
  }

  auto run(DryRunRequest request) {
    const std::vector<std::vector<PriceStep>> prices{{{WallTime{}, {3'600'000'000}}},
                                                     {{WallTime{}, {36'000'000'000}}}};
    fleet.emplace(config.fleet, PriceBook{prices}, kNow, WallTime{});
    ShapeReader reader;
    auto record = dry_run(std::move(request), config, *fleet, reader, kNow, WallTime{});
    EXPECT_TRUE(fleet->fleet().replicas[0].in_flight.empty()) << "nothing is placed";
    return record;
  }

  std::optional<LiveFleet> fleet;  // of the last run; its decision refers to it
  FleetBuilder builder;
  Config config;
  const std::string body =
      R"({"model":"m","messages":[{"role":"user","content":"Hello there"}],"max_tokens":20})";
};

TEST_F(DryRun, DecidesAsForARequestThatIsSent) {
  const auto record = run({.body = body});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->attempts.size(), 1u);
  EXPECT_EQ(record->attempts[0].chosen, ReplicaIndex{0});
  EXPECT_EQ(record->shape.output_limit, Tokens{20});
  EXPECT_EQ(record->shape.service_class, FleetBuilder::kInteractive) << "of the first key";
}

TEST_F(DryRun, TakesKeyClassAndRulesIntoAccount) {
  config.fleet.rules = RuleSet({{.name = "batch off the cheap pool",
                                 .action = RuleAction::kForbid,
                                 .when = {.classes = {FleetBuilder::kBatch}},
                                 .pools = {{0}}}},
                               {.models = 1, .classes = 2, .tenants = 1, .pools = 2});
  const auto record = run({.key_id = "night", .body = body});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->attempts[0].chosen, ReplicaIndex{1});
  EXPECT_EQ(record->attempts[0].candidates[0].rule, "batch off the cheap pool");
  EXPECT_EQ(run({.key_id = "web", .service_class = "batch", .body = body})->attempts[0].chosen,
            ReplicaIndex{1});
}

TEST_F(DryRun, SaysWhatAClientWouldHaveBeenTold) {
  EXPECT_EQ(run({.key_id = "night", .service_class = "interactive", .body = body}).error().status, 403);
  EXPECT_EQ(run({.body = R"({"model":"other"})"}).error().status, 404);
  EXPECT_EQ(run({.path = "/v1/nothing", .body = body}).error().status, 404);
  EXPECT_EQ(run({.body = "{"}).error().status, 400);
  EXPECT_THAT(run({.key_id = "nobody", .body = body}).error().message, HasSubstr("Keys: web, night."));
}

}  // namespace
}  // namespace fareway
