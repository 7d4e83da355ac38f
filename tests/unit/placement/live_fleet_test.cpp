#include "placement/live_fleet.hpp"

#include <random>

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
    return fleet.begin(shape, fleet.choose(shape, {}, now).chosen.value(), now);
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
  EXPECT_EQ(fleet.end(flight, shape, {}, true, kNow + seconds{3}), NanoUsd{3 * kNanoPerUsd});
  EXPECT_EQ(in_flight(), 0U);
}

TEST_F(LiveFleetTest, ChargesAndIdleAreThePriceTimesTheHours) {
  const RequestShape shape = request(100, 10);
  NanoUsd charges;
  for (int i = 0; i < 50; ++i) {
    const Flight flight = begin(shape, kNow + seconds{i});
    charges += fleet.end(flight, shape, {}, true, kNow + seconds{i} + milliseconds{700});
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
  EXPECT_GT(fleet.fleet().prefixes.cached(flight.replica, shape), Tokens{0});
  fleet.apply(flight.replica, {.generated_tokens = 3}, kNow + seconds{2}, kNow + seconds{2});
  EXPECT_EQ(fleet.fleet().prefixes.cached(flight.replica, shape), Tokens{0});
}

TEST_F(LiveFleetTest, LearnsTtftErrorsAndTokenRatiosFromWholeAnswersOnly) {
  RequestShape shape = request(100, 10);
  shape.content.text.by_script[0] = 1000;
  const double before = fleet.fleet()[a].errors[kind_of(shape.service_class, shape.prompt)].ttft;
  const Flight flight = begin(shape, kNow);
  fleet.first_token(flight, kNow + seconds{30});
  EXPECT_GT(fleet.fleet()[flight.replica].errors[kind_of(shape.service_class, shape.prompt)].ttft, before);
  const auto estimate = [&] {
    PromptContent content;
    content.text.by_script[0] = 4000;
    return fleet.estimate_prompt(shape.model, content).tokens;
  };
  const Tokens before_end = estimate();
  fleet.end(flight, shape, TokenUsage{{900}, {}, {5}}, false, kNow + seconds{31});
  EXPECT_EQ(estimate(), before_end) << "a broken answer teaches nothing";
}

TEST_F(LiveFleetTest, PricesASilentlySlowReplicaAsSlowWithinSeconds) {
  // Both profiles say 10 ms a step; a takes 40. Nothing has ended, nothing has failed.
  const RequestShape shape = request(100, 10'000);
  const Flight slow = fleet.begin(shape, fleet.decide(shape, {}, kNow).candidates[0], kNow);
  fleet.first_token(slow, kNow);
  for (int second = 1; second <= 4; ++second) {
    fleet.generated(slow, Tokens{25});
    fleet.tick(kNow + seconds{second}, WallTime{});
  }
  EXPECT_NEAR(fleet.fleet().speed(fleet.fleet()[a]).step(1, 200).count(), 0.040, 0.004);
  EXPECT_EQ(fleet.fleet().speed(fleet.fleet()[b]).step(1, 200), Seconds{0.010}) << "its sibling is as before";
  const Decision decision = fleet.decide(shape, {}, kNow + seconds{4});
  EXPECT_GT(decision.candidates[0].prediction.tpot, 3 * decision.candidates[1].prediction.tpot);
  EXPECT_EQ(decision.chosen, b);
}

TEST_F(LiveFleetTest, LearnsPrefillFromAWholeQueueSoThatWaitingDoesNotCountAsSlowness) {
  // Ten prompts come at once and are computed one after the other at three times the second of the profile.
  const RequestShape shape = request(1000, 10);
  std::vector<Flight> flights;
  for (int i = 0; i < 10; ++i)
    flights.push_back(fleet.begin(shape, fleet.decide(shape, {}, kNow).candidates[0], kNow));
  TimePoint done = kNow;
  for (const Flight& flight : flights) fleet.first_token(flight, done += seconds{3});
  EXPECT_NEAR(fleet.fleet()[a].correction.prefill().factor, 3, 0.4);
  EXPECT_NEAR(fleet.fleet()[a].correction.prefill().seen, 1, 0.01) << "one queue is one observation";
}

TEST_F(LiveFleetTest, PrefillsThatStallStreamsAreNotTakenForSlowSteps) {
  const RequestShape stream = request(100, 10'000);
  const Flight flight = fleet.begin(stream, fleet.decide(stream, {}, kNow).candidates[0], kNow);
  fleet.first_token(flight, kNow);
  for (int second = 0; second < 5; ++second) {
    // Half of each second goes to somebody's prompt, so half as many tokens come.
    const RequestShape prompt = request(500, 1);
    const Flight other =
        fleet.begin(prompt, fleet.decide(prompt, {}, kNow).candidates[0], kNow + seconds{second});
    fleet.first_token(other, kNow + seconds{second} + std::chrono::milliseconds{520});
    fleet.generated(flight, Tokens{50});
    fleet.end(other, prompt, {}, false, kNow + seconds{second} + std::chrono::milliseconds{530});
    fleet.tick(kNow + seconds{second + 1}, WallTime{});
  }
  EXPECT_EQ(fleet.fleet()[a].correction.decode().seen, 0);
  EXPECT_NEAR(fleet.fleet().speed(fleet.fleet()[a]).step(1, 200).count(), 0.010, 1e-9);
  EXPECT_NEAR(fleet.fleet()[a].correction.prefill().factor, 1, 0.05);
}

TEST_F(LiveFleetTest, DoubtsWhatItLearnedWhenTheEngineIsAnotherVersion) {
  const RequestShape shape = request(100, 10'000);
  const Flight flight = fleet.begin(shape, fleet.decide(shape, {}, kNow).candidates[0], kNow);
  fleet.first_token(flight, kNow);
  for (int second = 1; second <= 9; ++second) {
    fleet.generated(flight, Tokens{50});
    fleet.tick(kNow + seconds{second}, WallTime{});
  }
  const auto apply = [&](const char* version) {
    fleet.apply(a, {.version = version}, kNow + seconds{9}, kNow + seconds{9});
  };
  apply("0.11.0");
  EXPECT_GT(fleet.fleet()[a].correction.decode().seen, 5);
  apply("0.11.0");
  EXPECT_GT(fleet.fleet()[a].correction.decode().seen, 5);
  apply("0.12.0");
  EXPECT_LE(fleet.fleet()[a].correction.decode().seen, 1);
}

TEST_F(LiveFleetTest, ExpectsMoreOfAnAnswerThatOutlivedWhatWasExpected) {
  const RequestShape shape = request(100, 20);
  const Flight flight = begin(shape, kNow);
  fleet.first_token(flight, kNow);
  fleet.generated(flight, Tokens{500});
  fleet.tick(kNow + seconds{5}, WallTime{});
  EXPECT_GT(fleet.fleet()[flight.replica].in_flight[0].remaining(), 200) << "not one more token for ever";
}

TEST_F(LiveFleetTest, CountsRequestsForCapsFromPlacementToTheEnd) {
  builder.fleet().rules =
      RuleSet({{.name = "one at a time", .action = RuleAction::kCap, .most_in_flight = 1}},
              {.models = 1, .classes = 2, .tenants = 1, .pools = 2});
  LiveFleet capped(builder.fleet(), PriceBook{{{{WallTime{}, {1}}}, {{WallTime{}, {1}}}}}, kNow, WallTime{});
  RequestShape shape = request(100, 10);
  shape.rules = 1;
  const Flight flight = capped.begin(shape, capped.choose(shape, {}, kNow).chosen.value(), kNow);
  const Decision full = capped.decide(shape, {}, kNow);
  EXPECT_EQ(full.chosen, std::nullopt);
  EXPECT_EQ(full.candidates[0].excluded_by, "rule_cap");
  EXPECT_EQ(full.candidates[0].rule, "one at a time");
  EXPECT_FALSE(full.hopeless()) << "it will be served when the other has ended";
  capped.end(flight, shape, {}, true, kNow);
  EXPECT_TRUE(capped.choose(shape, {}, kNow).chosen);
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
  EXPECT_LT(std::chrono::abs(entry.first_token.value() - (kNow + seconds{1})), std::chrono::microseconds{1});
  EXPECT_EQ(entry.generated, Tokens{50});
}

TEST_F(LiveFleetTest, AFailedConnectionTakesTheReplicaOutUntilALaterProbe) {
  fleet.connection_failed(a, kNow + seconds{1});
  EXPECT_FALSE(fleet.fleet()[a].health.serving());
  fleet.apply(a, {}, kNow + seconds{2}, kNow + seconds{2});
  EXPECT_TRUE(fleet.fleet()[a].health.serving());
}

TEST_F(LiveFleetTest, AFlightEndsOnce) {
  const RequestShape shape = request(100, 10);
  const Flight first = begin(shape, kNow);
  const Flight other = begin(shape, kNow);
  fleet.end(first, shape, {}, true, kNow + seconds{1});
  EXPECT_EQ(in_flight(), 1U);
  fleet.generated(first, Tokens{5});
  fleet.first_token(first, kNow + seconds{2});
  EXPECT_FALSE(fleet.fleet()[other.replica].in_flight.front().first_token)
      << "a flight that is over moves nothing";
}

/// Whatever happens, what is kept for deciding says what a table made of the fleet at that moment would.
class KeptTable : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(KeptTable, DecidesAsOneMadeAnew) {
  std::mt19937_64 random{GetParam()};
  FleetBuilder builder;
  std::vector<std::vector<PriceStep>> prices;
  for (int i = 0; i < 5; ++i) {
    builder.add(
        {.name = "r", .usd_per_hour = 5, .step_seconds_per_sequence = 0.0002, .prompt_token_seconds = 1e-4});
    prices.push_back({{WallTime{}, {5 * kNanoPerUsd}}});
  }
  LiveFleet live{builder.fleet(), PriceBook{prices}, kNow, WallTime{}};
  std::vector<std::pair<Flight, RequestShape>> flights;
  TimePoint now = kNow;
  for (int event = 0; event < 3000; ++event) {
    now += milliseconds{random() % 20};
    if (event % 100 == 0) live.tick(now, WallTime{});
    const auto any = [&] { return flights.begin() + static_cast<std::ptrdiff_t>(random() % flights.size()); };
    const std::uint64_t kind = flights.size() < 20 ? 0 : random() % 5;
    if (kind == 0) {
      RequestShape shape = request(static_cast<std::int64_t>(1 + random() % 8000), 100);
      shape.tie_break = random();
      flights.emplace_back(live.begin(shape, live.choose(shape, {}, now).chosen.value(), now), shape);
    } else if (kind == 1) {
      const auto over = any();
      live.end(over->first, over->second, {}, false, now);
      flights.erase(over);
    } else if (kind == 2) {
      live.first_token(any()->first, now);
    } else if (kind == 3) {
      live.generated(any()->first, Tokens{1});
    } else {
      live.apply(ReplicaIndex{static_cast<std::uint32_t>(random() % 5)},
                 {.running = static_cast<std::int64_t>(random() % 40), .waiting = 1}, now, now);
    }
  }
  live.tick(now, WallTime{});
  const RequestShape shape = request(500, 100);
  const Decision kept = live.decide(shape, {}, now);
  const Decision anew = decide(shape, live.fleet(), {}, now);
  for (std::size_t i = 0; i < anew.candidates.size(); ++i) {
    EXPECT_EQ(kept.candidates[i].prediction.ttft, anew.candidates[i].prediction.ttft);
    EXPECT_EQ(kept.candidates[i].score.own_miss, anew.candidates[i].score.own_miss);
    EXPECT_EQ(kept.candidates[i].score.others_miss, anew.candidates[i].score.others_miss);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeptTable, ::testing::Range(1U, 6U));

}  // namespace
}  // namespace fareway
