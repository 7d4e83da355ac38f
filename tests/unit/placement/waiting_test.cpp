#include "placement/admission/waiting.hpp"

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;
using testing::request;

constexpr Seconds kPatience{30};

double left(const Waiting& waiting) {
  return Seconds{waiting.in_time_until - kNow}.count();
}

Choice costs(double own, double others, std::optional<Usd> refusing = Usd{1}) {
  Candidate candidate;
  candidate.score = {.gpu = {}, .own_miss = {own}, .others_miss = {others}};
  return {.chosen = candidate, .refuse_dollars = refusing};
}

TEST(WaitingOf, MayWaitUntilEvenALuckyIdleReplicaWouldBeTooLate) {
  FleetBuilder builder;
  builder.add({.name = "a"});
  // TTFT 1 s; alone: 100 ms of prefill and a step of 10 ms, by luck e^(−2.33 · 0.35) = 0.442 of that.
  const Waiting waiting = waiting_of(request(100, 10), builder.fleet(), kNow, kPatience);
  EXPECT_NEAR(left(waiting), 1 - 0.110 * 0.4424, 1e-3);
  EXPECT_EQ(waiting.gives_up, kNow + std::chrono::seconds{30});
  EXPECT_LT(waiting.unavoidable.value, 0.03);
}

TEST(WaitingOf, ACachedPrefixLeavesMoreTime) {
  FleetBuilder builder;
  const ReplicaIndex home = builder.add({.name = "home"});
  RequestShape turn = request(2000, 10);
  EXPECT_LT(left(waiting_of(turn, builder.fleet(), kNow, kPatience)), 0.2) << "2 s of prefill";
  for (BlockKey key = 1; key <= 7; ++key) turn.prefix.push_back(key);
  builder.fleet().prefixes.hold(home, turn, {});
  EXPECT_GT(left(waiting_of(turn, builder.fleet(), kNow, kPatience)), 0.8);
}

TEST(WaitingOf, ADeadlineCountsTheWholeAnswerAndIsHowLongItMayWait) {
  FleetBuilder builder;
  builder.add({.name = "a"});
  const Waiting waiting =
      waiting_of(request(100, 1000, FleetBuilder::kBatch), builder.fleet(), kNow, kPatience);
  EXPECT_NEAR(left(waiting), 1000 - (0.110 + 10.0) * 0.4424, 0.01);
  EXPECT_EQ(waiting.gives_up, kNow + std::chrono::seconds{1000});
}

TEST(WaitingOf, WhatNoReplicaCanEverDoInTimeIsLateAtOnce) {
  FleetBuilder builder;
  builder.add({.name = "slow decode", .step_seconds = 0.2});  // TPOT target 20 ms
  const Waiting waiting = waiting_of(request(10, 10), builder.fleet(), kNow, kPatience);
  EXPECT_EQ(waiting.in_time_until, kNow);
  EXPECT_NEAR(waiting.unavoidable.value, 1, 1e-6);
}

TEST(WaitingOf, WorkIsPricedOnTheCheapestReplicaReservedOrNot) {
  FleetBuilder builder;
  builder.add({.name = "dear", .usd_per_hour = 36});
  builder.add({.name = "reserved", .usd_per_hour = 3.6, .capacity = CapacityKind::kReserved});
  EXPECT_NEAR(waiting_of(request(100, 10), builder.fleet(), kNow, kPatience).work.value, 0.0001, 1e-9)
      << "0.1 s of prefill at $3.60 an hour";
  FleetBuilder free;
  free.add({.name = "free", .usd_per_hour = 0});
  EXPECT_GT(waiting_of(request(100, 10), free.fleet(), kNow, kPatience).work.value, 0)
      << "shares need a measure";
}

TEST(StandingOf, WaitsWhereItsMissesExceedFourFifthsOfWhatThereIsToGain) {
  const Waiting waiting{.in_time_until = kNow + std::chrono::seconds{1}, .unavoidable = {}};
  EXPECT_EQ(standing_of(costs(0.5, 0.29), waiting, kNow), Standing::kFits);
  EXPECT_EQ(standing_of(costs(0.5, 0.31), waiting, kNow), Standing::kWaits);
}

TEST(StandingOf, DoesNotWaitForWhatNoWaitingSaves) {
  const Waiting waiting{.in_time_until = kNow + std::chrono::seconds{1}, .unavoidable = {0.4}};
  EXPECT_EQ(standing_of(costs(0.8, 0.07), waiting, kNow), Standing::kFits) << "0.47 of 0.6";
  EXPECT_EQ(standing_of(costs(0.8, 0.09), waiting, kNow), Standing::kWaits);
}

TEST(StandingOf, WhoWouldProbablyMissAnywhereGoesWhereItHarmsOthersLittle) {
  const Waiting waiting{.in_time_until = kNow + std::chrono::seconds{1}, .unavoidable = {0.6}};
  EXPECT_EQ(standing_of(costs(1, 0.29), waiting, kNow), Standing::kFits);
  EXPECT_EQ(standing_of(costs(1, 0.31), waiting, kNow), Standing::kWaits);
}

TEST(StandingOf, WhoIsLateGoesWhereItHarmsOthersLittle) {
  const Waiting waiting{.in_time_until = kNow, .unavoidable = {}};
  EXPECT_EQ(standing_of(costs(1, 0.29), waiting, kNow), Standing::kFits);
  EXPECT_EQ(standing_of(costs(1, 0.31), waiting, kNow), Standing::kWaits);
}

TEST(StandingOf, AClassThatPaysByTheSecondWaitsOnlyForAReplica) {
  EXPECT_EQ(standing_of(costs(100, 100, std::nullopt), Waiting{}, kNow), Standing::kFits);
  EXPECT_EQ(standing_of(Choice{}, Waiting{}, kNow), Standing::kNobody);
}

}  // namespace
}  // namespace fareway
