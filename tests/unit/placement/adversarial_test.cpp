// What traffic, engines and clocks do at their worst, against the decision as the router keeps it.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "placement/live_fleet.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FleetBuilder;
using testing::kNow;
using testing::request;

class Adversarial : public ::testing::Test {
 protected:
  /// `count` equal replicas, in rotation, never read.
  void equal_replicas(int count, double usd_per_hour = 3.6) {
    for (int i = 0; i < count; ++i)
      builder_.add({.name = "r" + std::to_string(i),
                    .usd_per_hour = usd_per_hour,
                    .step_seconds_per_sequence = 0.0001,
                    .prompt_token_seconds = 1e-4});
  }
  LiveFleet& live() {
    if (!live_) {
      std::vector<std::vector<PriceStep>> prices;
      for (std::size_t i = 0; i < builder_.fleet().pools.size(); ++i) {
        prices.push_back({{WallTime{}, builder_.fleet().pools[i].per_device_hour}});
        if (i < steps_.size()) prices.back().insert(prices.back().end(), steps_[i].begin(), steps_[i].end());
      }
      live_.emplace(builder_.fleet(), PriceBook{prices}, kNow, WallTime{});
    }
    return *live_;
  }
  RequestShape one(std::int64_t prompt = 500, std::int64_t output = 100) {
    RequestShape shape = request(prompt, output);
    shape.tie_break = random_();
    return shape;
  }
  Flight place(const RequestShape& shape, TimePoint now) {
    const Choice choice = live().choose(shape, {}, now);
    EXPECT_TRUE(choice.chosen);
    ++placed_[choice.chosen->replica.value];
    return live().begin(shape, *choice.chosen, now);
  }
  int placed(std::uint32_t replica) { return placed_[replica]; }

  FleetBuilder builder_;
  std::vector<std::vector<PriceStep>> steps_;
  std::optional<LiveFleet> live_;
  std::map<std::uint32_t, int> placed_;
  std::mt19937_64 random_{7};
};

TEST_F(Adversarial, APriceThatJumpsInMidStreamIsPaidFromThenOnAndNewRequestsMoveAway) {
  equal_replicas(2);
  steps_.emplace_back(1, PriceStep{WallTime{} + seconds{100}, {360 * kNanoPerUsd}});
  RequestShape shape = one();
  shape.service_class = FleetBuilder::kBatch;  // misses are not at stake
  const Flight flight = live().begin(shape, {.replica = {0}}, kNow);
  live().tick(kNow + seconds{100}, WallTime{} + seconds{100});
  for (int i = 0; i < 20; ++i) place(shape, kNow + seconds{100});
  EXPECT_EQ(placed(0), 0) << "a hundred times the price";
  const NanoUsd cost = live().end(flight, shape, {}, true, kNow + seconds{200});
  EXPECT_EQ(cost.value, 100 * kNanoPerUsd / 1000 + 100 * kNanoPerUsd / 10) << "$3.60, then $360 an hour";
}

TEST_F(Adversarial, AReplicaTenTimesSlowKeepsOnlyAFractionOfTheTraffic) {
  equal_replicas(3);
  TimePoint now = kNow;
  const auto serve = [&](int count) {
    placed_.clear();
    for (int i = 0; i < count; ++i) {
      const RequestShape shape = one(5000, 20);
      const Choice choice = live().choose(shape, {}, now);
      const std::uint32_t where = choice.chosen->replica.value;
      const Flight flight = place(shape, now);
      const int factor = where == 0 ? 10 : 1;
      now += milliseconds{500 * factor};
      live().first_token(flight, now);
      now += milliseconds{200 * factor};
      live().end(flight, shape, TokenUsage{.prompt = {5000}, .cached = {0}, .completion = {20}}, true, now);
      live().tick(now, WallTime{});
    }
  };
  serve(60);
  serve(90);
  EXPECT_LT(placed(0), 12) << "a third would be its share";
}

TEST_F(Adversarial, WhereEveryReplicaIsFarTooSlowRequestsStillSpread) {
  for (int i = 0; i < 4; ++i)
    builder_.add(
        {.name = "slow", .step_seconds = 1, .prompt_token_seconds = 0.1});  // all targets are out of reach
  for (int i = 0; i < 40; ++i) place(one(), kNow + milliseconds{i});
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_NEAR(placed(i), 10, 8) << i;
}

TEST_F(Adversarial, TwoHundredRequestsWithinOneLoadReadingSpreadEvenly) {
  equal_replicas(4);
  for (std::uint32_t i = 0; i < 4; ++i)
    live().apply({i}, LoadReading{.running = 0, .waiting = 0, .kv_usage = 0.0}, kNow, kNow);
  for (int i = 0; i < 200; ++i) place(one(), kNow + milliseconds{i / 10});
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_NEAR(placed(i), 50, 5) << i;
}

TEST_F(Adversarial, AnOldReadingDoesNotHideWhatWasSentSince) {
  equal_replicas(2);
  // Both said that they are idle, one of them an hour ago.
  live().apply({0}, LoadReading{.running = 0, .waiting = 0}, kNow - hours{1}, kNow - hours{1});
  live().apply({1}, LoadReading{.running = 0, .waiting = 0}, kNow, kNow);
  for (int i = 0; i < 100; ++i) place(one(), kNow + milliseconds{i});
  EXPECT_NEAR(placed(0), 50, 6);
}

TEST_F(Adversarial, AFreshReplicaIsNeitherFloodedNorIgnored) {
  equal_replicas(3);
  for (std::uint32_t i = 0; i < 2; ++i)
    live().apply({i}, LoadReading{.running = 8, .waiting = 0, .kv_usage = 0.01}, kNow, kNow);
  for (int i = 0; i < 90; ++i) place(one(), kNow + milliseconds{i});
  EXPECT_GE(placed(2), 25);
  EXPECT_LE(placed(2), 50) << "nothing known is not no load: what was sent there counts";
}

TEST_F(Adversarial, AFloodOfOnePrefixDoesNotStayOnOneReplica) {
  equal_replicas(4);
  RequestShape hot = one(4000, 200);
  for (BlockKey key = 1; key <= 15; ++key) hot.prefix.push_back(key);
  for (int i = 0; i < 200; ++i) {
    hot.tie_break = random_();
    place(hot, kNow + milliseconds{10 * i});
  }
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_GE(placed(i), 20) << i;
}

TEST_F(Adversarial, EqualReplicasAreChosenAlikeWhateverTheyAreCalledAndWhereverTheyStand) {
  equal_replicas(20);
  std::vector<int> chosen(20);
  constexpr int kRounds = 4000;
  for (int i = 0; i < kRounds; ++i) {
    const Choice choice = live().choose(one(), {}, kNow);
    ++chosen[choice.chosen->replica.value];
  }
  double chi_squared = 0;
  constexpr double kExpected = kRounds / 20.0;
  for (const int count : chosen) chi_squared += std::pow(count - kExpected, 2) / kExpected;
  EXPECT_LT(chi_squared, 43.8) << "19 degrees of freedom, one in a thousand";
}

TEST_F(Adversarial, OneCandidateIsTakenHoweverBadAndNoneIsSaidSo) {
  equal_replicas(1);
  const Flight huge = live().begin(one(100'000, 10), {.replica = {0}}, kNow);
  EXPECT_EQ(huge.replica, ReplicaIndex{0});
  EXPECT_TRUE(live().choose(one(), {}, kNow).chosen);
  const std::vector<ReplicaIndex> failed{{0}};
  const Choice none = live().choose(one(), failed, kNow);
  EXPECT_FALSE(none.chosen);
  EXPECT_TRUE(none.cheaper_to_refuse);
}

TEST_F(Adversarial, AClockThatJumpsLeavesEveryFigureFinite) {
  equal_replicas(2);
  std::vector<Flight> flights;
  for (const auto jump : {seconds{0}, seconds{-3600}, seconds{7 * 86400}, seconds{-7 * 86400}, seconds{1}}) {
    const TimePoint now = kNow + jump;
    flights.push_back(place(one(), now));
    live().tick(now, WallTime{} + jump);
    for (const Candidate& candidate : live().decide(one(), {}, now).candidates) {
      EXPECT_TRUE(std::isfinite(candidate.score.total().value));
      EXPECT_TRUE(std::isfinite(candidate.prediction.ttft.count()));
      EXPECT_GE(candidate.prediction.miss_probability, 0);
      EXPECT_LE(candidate.prediction.miss_probability, 1);
    }
  }
  for (const Flight& flight : flights) EXPECT_GE(live().end(flight, one(), {}, true, kNow).value, 0);
}

TEST_F(Adversarial, ADrainedReplicaTakesNothingAndComesBack) {
  equal_replicas(2);
  live().set_draining({0}, true, kNow);
  for (int i = 0; i < 10; ++i) place(one(), kNow);
  EXPECT_EQ(placed(0), 0);
  live().set_draining({0}, false, kNow);
  for (int i = 0; i < 10; ++i) place(one(), kNow);
  EXPECT_GE(placed(0), 8) << "it is the emptier one";
}

}  // namespace
}  // namespace fareway
