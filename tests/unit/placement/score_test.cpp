#include "placement/score.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;
using testing::request;

TEST(GpuDollars, AreTheRateTimesTheAddedSecondsAndZeroOnReservedCapacity) {
  FleetBuilder builder;
  const ReplicaIndex on_demand = builder.add({.name = "a", .usd_per_hour = 3.6});
  const ReplicaIndex reserved =
      builder.add({.name = "b", .usd_per_hour = 3.6, .capacity = CapacityKind::kReserved});
  const Fleet& fleet = builder.fleet();
  EXPECT_DOUBLE_EQ(gpu_dollars(fleet, fleet[on_demand], Seconds{2}).value, 0.002);
  EXPECT_DOUBLE_EQ(gpu_dollars(fleet, fleet[reserved], Seconds{2}).value, 0);
}

TEST(Prediction, OnAnIdleReplicaIsOneMixedStepAndThePrefill) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a", .step_seconds = 0.010, .prompt_token_seconds = 0.001});
  const Fleet& fleet = builder.fleet();
  const RequestShape shape = request(300, 10);
  const Prediction prediction =
      predict(shape, fleet, fleet[a], load_of(fleet, fleet[a], shape.prompt, kNow), {});
  EXPECT_NEAR(prediction.ttft.count(), 0.310, 1e-9);
  EXPECT_NEAR(prediction.tpot.count(), 0.010, 1e-9);
}

TEST(Prediction, CachedTokensAreNotPrefilled) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  const Fleet& fleet = builder.fleet();
  const RequestShape shape = request(300, 10);
  const Prediction prediction =
      predict(shape, fleet, fleet[a], load_of(fleet, fleet[a], shape.prompt, kNow), {256});
  EXPECT_NEAR(prediction.ttft.count(), 0.010 + 0.044, 1e-9);
}

TEST(Prediction, WaitsBehindPrefillsThatWereSentThereBefore) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  Fleet& fleet = builder.fleet();
  fleet.replicas[0].in_flight.push_back({.id = 1,
                                         .arrived = kNow - std::chrono::milliseconds{500},
                                         .prompt = {2000},
                                         .cached = {},
                                         .expected_output = 10,
                                         .generated = {}});
  const ReplicaLoad load = load_of(fleet, fleet[a], {100}, kNow);
  EXPECT_NEAR(load.queued_prefill, 1.5, 1e-9) << "2 s of prefill, half a second of it done";
  EXPECT_GT(predict(request(100, 10), fleet, fleet[a], load, {}).ttft, Seconds{1.6});
}

TEST(Prediction, WaitsForASeatWhenTheReplicaIsFull) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  builder.fleet().deployments[0].seats = 4;
  builder.decoding(a, 4, {10}, 110);
  const Fleet& fleet = builder.fleet();
  const Prediction full = predict(request(1, 10), fleet, fleet[a], load_of(fleet, fleet[a], {1}, kNow), {});
  // A hundred tokens to go at 10 ms each; one of four seats is free after a quarter of that.
  EXPECT_NEAR(full.ttft.count(), 0.25 + 0.005 + 0.010 + 0.001, 1e-9);
}

TEST(Load, CountsWhatTheEngineReportsBeyondOurOwn) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  builder.decoding(a, 2, {10}, 20);
  Replica& replica = builder.fleet().replicas[0];
  replica.foreign_running = 3;
  replica.foreign_context = 900;
  const ReplicaLoad load = load_of(builder.fleet(), replica, {50}, kNow);
  EXPECT_DOUBLE_EQ(load.decoding, 5);
  EXPECT_DOUBLE_EQ(load.context, 900 + 2 * 110);
}

TEST(MissProbability, IsOneHalfWhenThePredictionIsTheTarget) {
  const ServiceClass objective{.name = "c", .ttft = Seconds{1}, .miss = {1}};
  EXPECT_NEAR(miss_probability(objective, {.ttft = Seconds{1}}, {.ttft = 0.3}), 0.5, 1e-12);
  // One spread above the target in logs: Φ(−1) of being met.
  EXPECT_NEAR(miss_probability(objective, {.ttft = Seconds{std::exp(0.3)}}, {.ttft = 0.3}), 0.841344746,
              1e-6);
}

TEST(MissProbability, NeedsEveryTargetMet) {
  const ServiceClass both{.name = "c", .ttft = Seconds{1}, .tpot = Seconds{0.1}, .miss = {1}};
  EXPECT_NEAR(miss_probability(both, {.ttft = Seconds{1}, .tpot = Seconds{0.1}}, {}), 0.75, 1e-12);
  EXPECT_NEAR(miss_probability(
                  both, {.ttft = Seconds{9}, .first_token = FirstToken::kSeen, .tpot = Seconds{0.1}}, {}),
              0.5, 1e-12)
      << "a first token that came cannot be late any more";
}

TEST(MissProbability, MeasuresADeadlineFromArrivalToTheLastToken) {
  const ServiceClass batch{.name = "c", .deadline = Seconds{11}, .miss = {1}};
  EXPECT_NEAR(miss_probability(batch, {.ttft = Seconds{1}, .tpot = Seconds{0.1}, .output = 100}, {}), 0.5,
              1e-12);
}

TEST(MissProbability, TargetsGrowWithThePrompt) {
  const ServiceClass objective{
      .name = "c", .ttft = Seconds{1}, .ttft_per_prompt_token = Seconds{0.001}, .miss = {1}};
  EXPECT_NEAR(miss_probability(objective, {.prompt = {1000}, .ttft = Seconds{2}}, {}), 0.5, 1e-12);
}

TEST(OthersMissDollars, AreZeroOnAnIdleReplica) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  const Fleet& fleet = builder.fleet();
  const RequestShape shape = request(50'000, 10);
  EXPECT_EQ(others_miss_dollars(shape, fleet, fleet[a], load_of(fleet, fleet[a], {1}, kNow), {}, kNow),
            Usd{0});
}

TEST(OthersMissDollars, GrowWithTheStallAndWithThoseWhoSufferIt) {
  FleetBuilder builder;
  const ReplicaIndex few = builder.add({.name = "few"});
  const ReplicaIndex many = builder.add({.name = "many"});
  builder.decoding(few, 2, {50}, 100);
  builder.decoding(many, 20, {50}, 100);
  const Fleet& fleet = builder.fleet();
  const auto dollars = [&](ReplicaIndex at, std::int64_t prompt) {
    return others_miss_dollars(request(prompt, 10), fleet, fleet[at], load_of(fleet, fleet[at], {1}, kNow),
                               {}, kNow);
  };
  EXPECT_NEAR(dollars(many, 1000).value, 10 * dollars(few, 1000).value, 1e-9);
  EXPECT_GT(dollars(many, 4000), dollars(many, 1000));
  // A stall of 20 s makes all twenty miss: twenty dollars less what they were likely to miss anyway.
  EXPECT_NEAR(dollars(many, 20'000).value, 20, 0.6);
}

TEST(OthersMissDollars, DoNotCountTheStallOfCachedTokens) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  builder.decoding(a, 5, {50}, 100);
  const Fleet& fleet = builder.fleet();
  const ReplicaLoad load = load_of(fleet, fleet[a], {1}, kNow);
  const RequestShape shape = request(2000, 10);
  EXPECT_LT(others_miss_dollars(shape, fleet, fleet[a], load, {1990}, kNow).value,
            0.1 * others_miss_dollars(shape, fleet, fleet[a], load, {}, kNow).value);
}

}  // namespace
}  // namespace fareway
