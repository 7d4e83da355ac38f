#include <vector>

#include <gtest/gtest.h>

#include "placement/scaling/scaler.hpp"

namespace fareway {
namespace {

using Kind = ScalingAdvice::Kind;

ReplicaUse replica(double usd_per_second, double throughput, bool in = true, std::uint32_t in_flight = 1) {
  return {.in = in,
          .per_second = {usd_per_second},
          .throughput = throughput,
          .in_flight = in_flight,
          .idle = in_flight == 0 ? std::optional(Seconds{700}) : std::nullopt};
}

/// A minute and more of reviews, one a second, in which so many miss dollars a second are expected and seen.
std::optional<ScalingAdvice> after(Scaler& scaler, const std::vector<ReplicaUse>& fleet, double from,
                                   double until, double misses_per_second, double worth_per_second = 10) {
  for (double now = from; now <= until; now += 1) {
    scaler.placed({misses_per_second}, {worth_per_second});
    scaler.missed({misses_per_second});
    if (const auto advice = scaler.review(fleet, Seconds{now})) return advice;
  }
  return std::nullopt;
}

TEST(Scaling, TheBestOutsideGeneratesMostForItsDollars) {
  const std::vector<ReplicaUse> fleet{replica(1, 100, false), replica(2, 300, false), replica(1, 999, true)};
  EXPECT_EQ(best_outside(fleet), ReplicaIndex{1});
  EXPECT_EQ(worst_inside(fleet), std::nullopt);
}

TEST(Scaling, TheLastReplicaIsNeverLetGo) {
  const std::vector<ReplicaUse> fleet{replica(1, 100), replica(1, 100, false)};
  for (const auto& scaler : {in_and_out(), idle_release(), concurrency_autoscaler()})
    for (double now = 1; now < 5000; now += 1)
      EXPECT_FALSE(scaler->review(fleet, Seconds{now})) << scaler->name() << ' ' << now;
}

TEST(InAndOut, TakesTheBestInWhenMissesCostMoreThanItsRate) {
  const std::vector<ReplicaUse> fleet{replica(0.004, 100), replica(0.010, 100, false),
                                      replica(0.005, 100, false)};
  const auto scaler = in_and_out();
  const auto advice = after(*scaler, fleet, 1, 300, 0.020);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->kind, Kind::kTakeIn);
  EXPECT_EQ(advice->replica, ReplicaIndex{2});
  EXPECT_GT(advice->gain_per_second.value, 0);
}

TEST(InAndOut, TakesOneInWhereMissesAreCheapButTooMany) {
  const std::vector<ReplicaUse> fleet{replica(0.004, 100), replica(0.004, 100, false)};
  // A tenth of the rate, but every twentieth request.
  const auto scaler = in_and_out();
  const auto advice = after(*scaler, fleet, 1, 600, 0.0004, 0.008);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->kind, Kind::kTakeIn);
}

TEST(InAndOut, LetsTheWorstGoAfterACalm) {
  const std::vector<ReplicaUse> fleet{replica(0.004, 100), replica(0.013, 100)};
  const auto scaler = in_and_out({.back_off_seconds = 120});
  EXPECT_FALSE(after(*scaler, fleet, 1, 119, 0));
  const auto advice = after(*scaler, fleet, 120, 200, 0);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->kind, Kind::kLetGo);
  EXPECT_EQ(advice->replica, ReplicaIndex{1});
  EXPECT_EQ(advice->gain_per_second.value, 0.013);
}

TEST(InAndOut, WaitsTwiceAsLongOnceOneHadToComeBackSoon) {
  const std::vector<ReplicaUse> all{replica(0.004, 100), replica(0.004, 90)};
  const std::vector<ReplicaUse> one{replica(0.004, 100), replica(0.004, 90, false)};
  const auto scaler = in_and_out({.back_off_seconds = 120});
  ASSERT_EQ(after(*scaler, all, 1, 200, 0)->kind, Kind::kLetGo);
  ASSERT_EQ(after(*scaler, one, 201, 400, 0.5)->kind, Kind::kTakeIn);
  // The averages fade within a minute; from then on the calm must last 240 s instead of 120.
  EXPECT_FALSE(after(*scaler, all, 202, 450, 0));
  EXPECT_TRUE(after(*scaler, all, 451, 600, 0));
}

TEST(InAndOut, LearnsThatExpectedMissesDoNotHappen) {
  const std::vector<ReplicaUse> fleet{replica(0.004, 100), replica(0.004, 100, false)};
  const auto scaler = in_and_out();
  int taken_in = 0;
  for (double now = 1; now <= 3600; now += 1) {
    scaler->placed({0.006}, {1});  // half as much again as the rate, but nobody misses
    const auto advice = scaler->review(fleet, Seconds{now});
    taken_in += now > 1800 && advice && advice->kind == Kind::kTakeIn ? 1 : 0;
  }
  EXPECT_EQ(taken_in, 0);
}

TEST(IdleRelease, ReleasesOnlyWhatWasIdleForTenMinutes) {
  const std::vector<ReplicaUse> fleet{replica(1, 100, true, 5), replica(1, 100, true, 0)};
  const auto advice = idle_release()->review(fleet, Seconds{1});
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->kind, Kind::kLetGo);
  EXPECT_EQ(advice->replica, ReplicaIndex{1});
  const std::vector<ReplicaUse> busy{replica(1, 100, true, 5), replica(1, 100, true, 1)};
  EXPECT_FALSE(idle_release()->review(busy, Seconds{1}));
}

TEST(ConcurrencyAutoscaler, HoldsRequestsAReplicaAtItsTarget) {
  const auto scaler = concurrency_autoscaler(10);
  const std::vector<ReplicaUse> full{replica(1, 100, true, 11), replica(1, 100, false, 0)};
  EXPECT_EQ(scaler->review(full, Seconds{1})->kind, Kind::kTakeIn);
  const std::vector<ReplicaUse> slack{replica(1, 100, true, 4), replica(1, 90, true, 4)};
  EXPECT_FALSE(scaler->review(slack, Seconds{2}));
  EXPECT_FALSE(scaler->review(slack, Seconds{200}));
  EXPECT_EQ(scaler->review(slack, Seconds{302})->kind, Kind::kLetGo);
}

}  // namespace
}  // namespace fareway
