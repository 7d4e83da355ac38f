#include <cmath>

#include <gtest/gtest.h>

#include "placement/decision.hpp"
#include "placement/load.hpp"
#include "tests/support/exact_score.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;
using testing::miss_probability;
using testing::request;

/// What `decide` says of one replica.
Candidate weighed(FleetBuilder& builder, ReplicaIndex replica, const RequestShape& shape) {
  return decide(shape, builder.fleet(), {}, kNow).candidates.at(replica.value);
}

TEST(GpuDollars, AreTheRateTimesTheAddedSecondsAndZeroOnReservedCapacity) {
  FleetBuilder builder;
  const ReplicaIndex on_demand =
      builder.add({.name = "a", .usd_per_hour = 3.6, .prompt_token_seconds = 0.002});
  const ReplicaIndex reserved = builder.add(
      {.name = "b", .usd_per_hour = 3.6, .capacity = CapacityKind::kReserved, .prompt_token_seconds = 0.002});
  const RequestShape shape = request(1000, 10);
  EXPECT_NEAR(weighed(builder, on_demand, shape).score.gpu.value, 0.002, 1e-9) << "2 s at $3.60 an hour";
  EXPECT_EQ(weighed(builder, reserved, shape).score.gpu, Usd{0});
}

TEST(GpuDollars, CountWhatEachTokenOfTheAnswerAddsToAStep) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add(
      {.name = "a", .usd_per_hour = 3600, .step_seconds_per_sequence = 0.0005, .prompt_token_seconds = 0});
  builder.fleet().deployments[0].speed.per_context_token = 1e-6;
  // 200 tokens × (0.5 ms + 1,100 tokens of context on average × 1 µs) at a dollar a second.
  EXPECT_NEAR(weighed(builder, a, request(1000, 200)).score.gpu.value, 200 * (0.0005 + 0.0011), 1e-6);
}

TEST(Prediction, OnAnIdleReplicaIsOneMixedStepAndThePrefill) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a", .step_seconds = 0.010, .prompt_token_seconds = 0.001});
  const Prediction prediction = weighed(builder, a, request(300, 10)).prediction;
  EXPECT_NEAR(prediction.ttft.count(), 0.310, 1e-6);
  EXPECT_NEAR(prediction.tpot.count(), 0.010, 1e-7);
}

TEST(Prediction, APromptLongerThanAChunkTakesAMixedStepEach) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a", .step_seconds = 0.010, .prompt_token_seconds = 1e-6});
  builder.fleet().deployments[0].chunk = {100};
  EXPECT_NEAR(weighed(builder, a, request(300, 10)).prediction.ttft.count(), 3 * 0.010 + 0.0003, 1e-6);
  EXPECT_NEAR(weighed(builder, a, request(301, 10)).prediction.ttft.count(), 4 * 0.010 + 0.000301, 1e-6);
}

TEST(Prediction, CachedTokensAreNotPrefilled) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  RequestShape shape = request(300, 10);
  shape.session = 1;
  builder.fleet().prefixes.hold({0}, shape, {});
  const Candidate candidate = weighed(builder, a, shape);
  EXPECT_EQ(candidate.cached, Tokens{256});
  EXPECT_NEAR(candidate.prediction.ttft.count(), 0.010 + 0.044, 1e-6);
}

class QueuedPrefills : public ::testing::Test {
 protected:
  FleetBuilder builder;
  ReplicaIndex a = builder.add({.name = "a"});

  void queue(std::int64_t prompt, std::chrono::milliseconds ago) {
    builder.fleet().replicas[0].in_flight.push_back(
        {.arrived = kNow - ago, .prompt = {prompt}, .cached = {}, .expected_output = 10, .generated = {}});
  }
  /// Seconds of prefill that a newcomer of one token finds ahead, its own millisecond and mixed step taken
  /// off.
  double ahead() { return weighed(builder, a, request(1, 1)).prediction.ttft.count() - 0.011; }
};

TEST_F(QueuedPrefills, AreWaitedForLessWhatIsDoneOfTheOldest) {
  queue(2000, std::chrono::milliseconds{500});
  EXPECT_NEAR(ahead(), 1.5, 1e-5) << "2 s of prefill, half a second of it done";
}

TEST_F(QueuedPrefills, AnOverdueOneDoesNotMakeTheOthersShorter) {
  queue(2000, std::chrono::seconds{30});
  queue(3000, std::chrono::seconds{1});
  EXPECT_NEAR(ahead(), 3, 1e-5);
}

TEST_F(QueuedPrefills, TheNextOneBeginsWhenTheOneBeforeItIsDone) {
  queue(3000, std::chrono::seconds{30});
  builder.fleet().replicas[0].prefill_ended = kNow - std::chrono::seconds{1};
  EXPECT_NEAR(ahead(), 2, 1e-5);
}

TEST_F(QueuedPrefills, OthersThatWaitAreTakenToBringWhatTheNewcomerBrings) {
  builder.fleet().replicas[0].foreign_waiting = 3;
  EXPECT_NEAR(weighed(builder, a, request(1000, 1)).prediction.ttft.count(), 4 * 1.0 + 0.010, 1e-5);
}

TEST(Prediction, WaitsForASeatWhenTheReplicaIsFull) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  builder.fleet().deployments[0].seats = 4;
  builder.decoding(a, 4, {10}, 110);
  // A hundred tokens to go at 10 ms each; one of four seats is free after a quarter of that.
  EXPECT_NEAR(weighed(builder, a, request(1, 10)).prediction.ttft.count(), 0.25 + 0.005 + 0.010 + 0.001,
              1e-5);
}

TEST(Prediction, WaitsForKvMemoryWhenThePromptDoesNotFitBesideTheOthers) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  builder.decoding(a, 4, {10}, 110);  // they hold 4 × 110 tokens and have 100 to go
  builder.fleet().replicas[0].reading = LoadReading{.kv_capacity = Tokens{540}};
  // 210 tokens need room for 110 more than is free: a quarter of those who decode must leave.
  EXPECT_NEAR(weighed(builder, a, request(210, 10)).prediction.ttft.count(), 0.25 + 0.005 + 0.010 + 0.210,
              1e-5);
}

TEST(Prediction, APrefillingReplicaDecodesInTheRestOfItsTime) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  builder.fleet().replicas[0].prefill_share = 0.5;
  EXPECT_NEAR(weighed(builder, a, request(10, 10)).prediction.tpot.count(), 0.020, 1e-6);
  builder.fleet().replicas[0].prefill_share_at = kNow - std::chrono::seconds{20};
  EXPECT_NEAR(weighed(builder, a, request(10, 10)).prediction.tpot.count(), 0.010 / (1 - 0.5 / std::exp(1)),
              1e-6)
      << "it fades";
  builder.fleet().replicas[0].prefill_share = 100;
  EXPECT_NEAR(weighed(builder, a, request(10, 10)).prediction.tpot.count(), 0.010 / 0.15, 1e-5)
      << "85 % at most";
}

TEST(Load, CountsWhatTheEngineReportsBeyondOurOwn) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a"});
  builder.decoding(a, 2, {10}, 20);
  Replica& replica = builder.fleet().replicas[0];
  replica.foreign_running = 3;
  replica.foreign_context = 900;
  const ReplicaLoad load = load_of(builder.fleet(), replica, kNow);
  EXPECT_DOUBLE_EQ(load.decoding, 5);
  EXPECT_DOUBLE_EQ(load.context, 900 + 2 * 110);
}

TEST(OwnMiss, UsesTheSpreadOfItsKindOfRequest) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a", .prompt_token_seconds = 0.0001});
  builder.fleet().replicas[0].errors[kind_of(FleetBuilder::kInteractive, {4096})] = {.ttft = 0.8,
                                                                                     .tpot = 0.8};
  builder.fleet().replicas[0].errors[kind_of(FleetBuilder::kInteractive, {4095})] = {.ttft = 0.1,
                                                                                     .tpot = 0.1};
  const double at_edge = weighed(builder, a, request(4095, 10)).prediction.miss_probability;
  EXPECT_GT(weighed(builder, a, request(4096, 10)).prediction.miss_probability, 100 * at_edge);
}

// The formula itself, which the fast terms agree with (score_agreement_test.cpp).

TEST(MissProbability, IsOneHalfWhenThePredictionIsTheTarget) {
  const ServiceClass objective{.name = "c", .ttft = Seconds{1}, .miss = {1}};
  EXPECT_NEAR(miss_probability(objective, {.ttft = Seconds{1}}, {.ttft = 0.3}), 0.5, 1e-12);
  // One spread above the target in logs of half a second more: Φ(−1) of being met.
  EXPECT_NEAR(miss_probability(objective, {.ttft = Seconds{1.5 * std::exp(0.3) - 0.5}}, {.ttft = 0.3}),
              0.841344746, 1e-6);
}

TEST(MissProbability, NeedsEveryTargetMet) {
  const ServiceClass both{.name = "c", .ttft = Seconds{1}, .tpot = Seconds{0.1}, .miss = {1}};
  EXPECT_NEAR(miss_probability(both, {.ttft = Seconds{1}, .tpot = Seconds{0.1}}, {}), 0.75, 1e-12);
  EXPECT_NEAR(
      miss_probability(both, {.ttft = Seconds{9}, .first_token_seen = true, .tpot = Seconds{0.1}}, {}), 0.5,
      1e-12)
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

class OthersMissDollars : public ::testing::Test {
 protected:
  FleetBuilder builder;

  double dollars(ReplicaIndex at, const RequestShape& shape) {
    return weighed(builder, at, shape).score.others_miss.value;
  }
};

TEST_F(OthersMissDollars, AreZeroOnAnIdleReplica) {
  const ReplicaIndex a = builder.add({.name = "a"});
  EXPECT_EQ(dollars(a, request(50'000, 10)), 0);
}

TEST_F(OthersMissDollars, GrowWithTheStallAndWithThoseWhoSufferIt) {
  const ReplicaIndex few = builder.add({.name = "few"});
  const ReplicaIndex many = builder.add({.name = "many"});
  builder.decoding(few, 2, {50}, 100);
  builder.decoding(many, 20, {50}, 100);
  EXPECT_NEAR(dollars(many, request(1000, 10)), 10 * dollars(few, request(1000, 10)), 1e-4);
  EXPECT_GT(dollars(many, request(4000, 10)), dollars(many, request(1000, 10)));
  // A stall of 20 s makes all twenty miss: twenty dollars less what they were likely to miss anyway.
  EXPECT_NEAR(dollars(many, request(20'000, 10)), 20, 0.6);
}

TEST_F(OthersMissDollars, DoNotCountTheStallOfCachedTokens) {
  const ReplicaIndex a = builder.add({.name = "a"});
  builder.decoding(a, 5, {50}, 100);
  RequestShape shape = request(2060, 10);
  shape.session = 1;
  const double uncached = dollars(a, shape);
  builder.fleet().prefixes.hold({0}, shape, {});
  EXPECT_LT(dollars(a, shape), 0.1 * uncached);
}

TEST_F(OthersMissDollars, CountTheSlowerStepForAsLongAsBothDecode) {
  const ReplicaIndex a =
      builder.add({.name = "a", .step_seconds_per_sequence = 0.002, .prompt_token_seconds = 0});
  builder.decoding(a, 5, {50}, 300);
  const double briefly = dollars(a, request(10, 1));
  EXPECT_GT(dollars(a, request(10, 200)), 20 * briefly);
}

}  // namespace
}  // namespace fareway
