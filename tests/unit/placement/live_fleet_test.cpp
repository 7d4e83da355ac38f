#include "placement/live_fleet.hpp"

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FleetBuilder;
using testing::kNow;
using testing::request;

class LiveFleetTest : public ::testing::Test {
 protected:
  FleetBuilder builder;
  ReplicaIndex a = builder.add({.name = "a", .usd_per_hour = 3600});  // a dollar a second
  ReplicaIndex b = builder.add({.name = "b", .usd_per_hour = 3600});
  LiveFleet fleet{
      builder.fleet(),
      PriceBook{{{{WallTime{}, {3600 * kNanoPerUsd}}},
                 {{WallTime{}, {3600 * kNanoPerUsd}}, {WallTime{seconds{100}}, {7200 * kNanoPerUsd}}}}},
      kNow, WallTime{}};

  Flight begin(const RequestShape& shape, TimePoint now) {
    const Decision decision = decide(shape, fleet.fleet(), {}, now);
    return fleet.begin(shape, *decision.chosen_candidate(), now);
  }
  std::size_t in_flight() const {
    return fleet.fleet()[a].in_flight.size() + fleet.fleet()[b].in_flight.size();
  }
};

TEST_F(LiveFleetTest, APlacedRequestCountsAtOnceSoThatABurstSpreads) {
  const RequestShape shape = request(100, 10);
  const Flight first = begin(shape, kNow);
  const Flight second = begin(shape, kNow);
  EXPECT_NE(first.replica, second.replica) << "no reading was needed to see the first";
}

TEST_F(LiveFleetTest, TheMeterRunsFromPlacementToTheEnd) {
  const RequestShape shape = request(100, 10);
  const Flight flight = begin(shape, kNow);
  EXPECT_EQ(fleet.end(flight, shape, 400, {}, true, kNow + seconds{3}), NanoUsd{3 * kNanoPerUsd});
  EXPECT_EQ(in_flight(), 0U);
}

TEST_F(LiveFleetTest, ChargesAndIdleAreThePriceTimesTheHours) {
  const RequestShape shape = request(100, 10);
  NanoUsd charges;
  for (int i = 0; i < 50; ++i) {
    const Flight flight = begin(shape, kNow + seconds{i});
    charges += fleet.end(flight, shape, 400, {}, true, kNow + seconds{i} + milliseconds{700});
  }
  fleet.tick(kNow + hours{1}, WallTime{});
  const NanoUsd idle = fleet.meter(a).idle() + fleet.meter(b).idle();
  EXPECT_EQ(charges + idle, NanoUsd{2 * 3600 * kNanoPerUsd});
}

TEST_F(LiveFleetTest, APriceStepTakesEffectAtTheNextTick) {
  fleet.tick(kNow + seconds{1}, WallTime{seconds{99}});
  EXPECT_EQ(fleet.fleet().pools[1].per_device_hour, NanoUsdPerHour{3600 * kNanoPerUsd});
  fleet.tick(kNow + seconds{2}, WallTime{seconds{100}});
  EXPECT_EQ(fleet.fleet().pools[1].per_device_hour, NanoUsdPerHour{7200 * kNanoPerUsd});
  EXPECT_EQ(fleet.meter(b).rate(), NanoUsdPerHour{7200 * kNanoPerUsd});
}

TEST_F(LiveFleetTest, AReadingMinusOurOwnRequestsIsForeignLoad) {
  const RequestShape shape = request(100, 10);
  const Flight flight = begin(shape, kNow);
  fleet.apply(flight.replica, {.running = 4, .waiting = 2, .kv_usage = 0.0009}, kNow + seconds{1},
              kNow + seconds{1});
  const Replica& replica = fleet.fleet()[flight.replica];
  EXPECT_EQ(replica.foreign_running + replica.foreign_waiting, 5) << "one of the six is ours";
  EXPECT_EQ(replica.foreign_waiting, 2);
  EXPECT_NEAR(replica.foreign_context, 800, 1e-9) << "900 tokens in use, our 100 among them";
}

TEST_F(LiveFleetTest, ARequestSentAfterTheReadingWasAskedForIsNotInIt) {
  const RequestShape shape = request(100, 10);
  const Flight flight = begin(shape, kNow + seconds{1});
  fleet.apply(flight.replica, {.running = 1}, kNow, kNow + seconds{2});
  EXPECT_EQ(fleet.fleet()[flight.replica].foreign_running, 1);
}

TEST_F(LiveFleetTest, AnEngineThatRestartedHasAnEmptyCache) {
  RequestShape shape = request(2000, 10);
  shape.session = 9;
  const Flight flight = begin(shape, kNow);
  fleet.apply(flight.replica, {.generated_tokens = 5000}, kNow + seconds{1}, kNow + seconds{1});
  EXPECT_GT(fleet.fleet()[flight.replica].prefixes.cached(shape), Tokens{0});
  fleet.apply(flight.replica, {.generated_tokens = 3}, kNow + seconds{2}, kNow + seconds{2});
  EXPECT_EQ(fleet.fleet()[flight.replica].prefixes.cached(shape), Tokens{0});
}

TEST_F(LiveFleetTest, LearnsTtftErrorsAndTokenRatiosFromWholeAnswersOnly) {
  const RequestShape shape = request(100, 10);
  const double before = fleet.fleet()[a].errors.ttft;
  const Flight flight = begin(shape, kNow);
  fleet.first_token(flight, kNow + seconds{30});
  EXPECT_GT(fleet.fleet()[flight.replica].errors.ttft, before);
  const Tokens estimate = fleet.estimate_prompt(shape.model, 4000);
  fleet.end(flight, shape, 1000, TokenUsage{{900}, {}, {5}}, false, kNow + seconds{31});
  EXPECT_EQ(fleet.estimate_prompt(shape.model, 4000), estimate) << "a broken answer teaches nothing";
}

TEST_F(LiveFleetTest, GeneratedTokensGrowTheContextTheReplicaHolds) {
  const Flight flight = begin(request(100, 10), kNow);
  fleet.first_token(flight, kNow + seconds{1});
  fleet.generated(flight, Tokens{7});
  EXPECT_DOUBLE_EQ(fleet.fleet()[flight.replica].in_flight.front().context(), 107);
  EXPECT_DOUBLE_EQ(fleet.fleet()[flight.replica].in_flight.front().remaining(), 3);
}

TEST_F(LiveFleetTest, AnAnswerThatIsNotStreamedIsTakenToProgressAsPredicted) {
  RequestShape shape = request(990, 100);  // 1 s to the first token, then 10 ms each
  shape.streamed = false;
  const Flight flight = begin(shape, kNow);
  fleet.tick(kNow + milliseconds{900}, WallTime{});
  EXPECT_FALSE(fleet.fleet()[flight.replica].in_flight.front().first_token);
  fleet.tick(kNow + milliseconds{1500}, WallTime{});
  const InFlight& entry = fleet.fleet()[flight.replica].in_flight.front();
  EXPECT_EQ(entry.first_token, kNow + seconds{1});
  EXPECT_EQ(entry.generated, Tokens{50});
}

TEST_F(LiveFleetTest, AFailedConnectionTakesTheReplicaOutUntilALaterProbe) {
  fleet.connection_failed(a, kNow + seconds{1});
  EXPECT_FALSE(fleet.fleet()[a].health.serving());
  fleet.apply(a, {}, kNow + seconds{2}, kNow + seconds{2});
  EXPECT_TRUE(fleet.fleet()[a].health.serving());
}

}  // namespace
}  // namespace fareway
