#include "placement/decision.hpp"

#include <array>
#include <cmath>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/allocations.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using ::testing::ElementsAre;
using testing::FleetBuilder;
using testing::kNow;
using testing::request;

TEST(Decide, TakesTheCheaperOfTwoIdleReplicasThatBothMeetTheObjective) {
  FleetBuilder builder;
  builder.add({.name = "dear", .usd_per_hour = 7.2});
  const ReplicaIndex cheap = builder.add({.name = "cheap", .usd_per_hour = 3.6});
  const Decision decision = decide(request(100, 10), builder.fleet(), {}, kNow);
  EXPECT_EQ(decision.chosen, cheap);
  EXPECT_NEAR(decision.chosen_candidate()->score.gpu.value, 0.0001, 1e-10)
      << "0.1 s of prefill at $3.60 an hour";
}

TEST(Decide, RaisingAPoolsPriceMovesTrafficOffIt) {
  FleetBuilder builder;
  const ReplicaIndex a = builder.add({.name = "a", .usd_per_hour = 3});
  const ReplicaIndex b = builder.add({.name = "b", .usd_per_hour = 4});
  EXPECT_EQ(decide(request(100, 10), builder.fleet(), {}, kNow).chosen, a);
  builder.fleet().pools[0].per_device_hour = {5 * kNanoPerUsd};
  EXPECT_EQ(decide(request(100, 10), builder.fleet(), {}, kNow).chosen, b);
}

TEST(Decide, ThePriceOfReservedCapacityCountsNothing) {
  FleetBuilder builder;
  builder.add({.name = "cheap on demand", .usd_per_hour = 0.1});
  const ReplicaIndex reserved =
      builder.add({.name = "dear reserved", .usd_per_hour = 50, .capacity = CapacityKind::kReserved});
  EXPECT_EQ(decide(request(100, 10), builder.fleet(), {}, kNow).chosen, reserved);
}

TEST(Decide, PaysMoreGpuDollarsExactlyWhileTheyAreLessThanTheMissesTheySave) {
  FleetBuilder builder;
  const ReplicaIndex loaded = builder.add({.name = "loaded", .usd_per_hour = 3.6});
  const ReplicaIndex idle = builder.add({.name = "idle", .usd_per_hour = 3.6});
  builder.decoding(loaded, 10, {50}, 100);
  const RequestShape shape = request(100, 50);

  // What the loaded replica costs in misses is what the idle one may cost more in GPU seconds.
  const Decision before = decide(shape, builder.fleet(), {}, kNow);
  const double loaded_total = before.candidates[loaded.value].score.total().value;
  const Score& idle_score = before.candidates[idle.value].score;
  const double break_even =
      3.6 * (loaded_total - idle_score.own_miss.value - idle_score.others_miss.value) / idle_score.gpu.value;
  ASSERT_GT(break_even, 3.6) << "otherwise the load would cost nothing";

  const auto at_idle_price = [&](double usd) {
    builder.fleet().pools[idle.value].per_device_hour = {std::llround(usd * 1e9)};
    return decide(shape, builder.fleet(), {}, kNow).chosen;
  };
  EXPECT_EQ(at_idle_price(break_even * 0.999), idle);
  EXPECT_EQ(at_idle_price(break_even * 1.001), loaded);
}

TEST(Decide, ALongPromptAvoidsTheReplicaWhereItWouldStallManyDecoders) {
  FleetBuilder builder;
  const ReplicaIndex crowded = builder.add({.name = "crowded", .usd_per_hour = 1, .step_seconds = 0.002});
  const ReplicaIndex quiet = builder.add({.name = "quiet", .usd_per_hour = 40});
  builder.decoding(crowded, 30, {50}, 200);
  const Decision long_prompt = decide(request(20'000, 10, FleetBuilder::kBatch), builder.fleet(), {}, kNow);
  EXPECT_EQ(long_prompt.chosen, quiet);
  EXPECT_GT(long_prompt.candidates[crowded.value].score.others_miss, Usd{25});
  EXPECT_EQ(long_prompt.candidates[quiet.value].score.others_miss, Usd{0});

  const Decision short_prompt = decide(request(5, 10, FleetBuilder::kBatch), builder.fleet(), {}, kNow);
  EXPECT_EQ(short_prompt.chosen, crowded) << "five tokens stall nobody for long";
}

TEST(Decide, TheNextTurnOfASessionStaysUnlessMovingIsCheaper) {
  FleetBuilder builder;
  const ReplicaIndex home = builder.add({.name = "home", .usd_per_hour = 3.6});
  const ReplicaIndex other = builder.add({.name = "other", .usd_per_hour = 3.5});
  RequestShape turn = request(10'000, 10, FleetBuilder::kBatch);
  turn.session = 42;
  EXPECT_EQ(decide(turn, builder.fleet(), {}, kNow).chosen, other);

  builder.fleet().prefixes.hold(home, turn, {});
  const Decision next = decide(turn, builder.fleet(), {}, kNow);
  EXPECT_EQ(next.chosen, home) << "nearly ten seconds of prefill are saved there";
  EXPECT_EQ(next.candidates[home.value].cached, Tokens{39 * kBlockTokens});

  builder.decoding(home, 40, {50}, 400);
  builder.fleet().replicas[home.value].prefill_share = 0.85;
  turn.service_class = FleetBuilder::kInteractive;
  turn.prompt = {400};
  EXPECT_EQ(decide(turn, builder.fleet(), {}, kNow).chosen, other) << "a short context is cheaper to move";
}

TEST(Decide, ExcludesByNameAndKeepsTheReasonOfEveryLoser) {
  FleetBuilder builder;
  builder.add({.name = "small", .context_limit = {50}});
  builder.add({.name = "failed"});
  const ReplicaIndex good = builder.add({.name = "good"});
  builder.add({.name = "down"});
  builder.fleet().replicas[3].health.connection_failed(kNow);
  const std::array failed{ReplicaIndex{1}};
  const Decision decision = decide(request(100, 10), builder.fleet(), failed, kNow);
  EXPECT_EQ(decision.chosen, good);
  std::vector<std::string_view> reasons;
  for (const Candidate& candidate : decision.candidates) reasons.push_back(candidate.excluded_by);
  EXPECT_THAT(reasons, ElementsAre("context", "failed_before", "", "health"));
}

TEST(Decide, AnEstimateAloneDoesNotRefuseWhatMayFit) {
  FleetBuilder builder;
  builder.add({.name = "small", .context_limit = {500}});
  const ReplicaIndex large = builder.add({.name = "large", .context_limit = {1000}});
  RequestShape shape = request(1200, 10);
  EXPECT_FALSE(decide(shape, builder.fleet(), {}, kNow).chosen) << "a count that is known is final";
  shape.prompt_error = 0.3;
  EXPECT_EQ(decide(shape, builder.fleet(), {}, kNow).chosen, large) << "1,200 may be 923";
  shape.prompt = {1400};
  EXPECT_TRUE(decide(shape, builder.fleet(), {}, kNow).hopeless()) << "1,400 is 1,076 at least";
}

TEST(Decide, PaysForARulesPreferenceExactlyWhatTheRuleSays) {
  FleetBuilder builder;
  const ReplicaIndex cheap = builder.add({.name = "cheap", .usd_per_hour = 3.6});
  const ReplicaIndex dear = builder.add({.name = "dear", .usd_per_hour = 36});  // $0.0009 more for 100 ms
  const RuleSet::Sizes sizes{.models = 1, .classes = 2, .tenants = 1, .pools = 2};
  const auto chosen_at = [&](double preference) {
    builder.fleet().rules = RuleSet(
        {{.name = "r", .action = RuleAction::kPrefer, .pools = {{1}}, .preference = {preference}}}, sizes);
    RequestShape shape = request(100, 0, FleetBuilder::kBatch);
    shape.rules = 1;
    return decide(shape, builder.fleet(), {}, kNow);
  };
  EXPECT_EQ(chosen_at(0.0008).chosen, cheap);
  EXPECT_EQ(chosen_at(0.0010).chosen, dear);
  EXPECT_NEAR(chosen_at(0.0010).candidates[1].score.preference.value, -0.001, 1e-9);
  EXPECT_EQ(chosen_at(0.0010).candidates[0].score.preference, Usd{0});
}

TEST(Decide, SpreadsEqualChoicesByTheTieBreakAlone) {
  FleetBuilder builder;
  for (const char* name : {"a", "b", "c"}) builder.add({.name = name});
  std::map<std::uint32_t, int> counts;
  RequestShape shape = request(100, 10);
  for (std::uint64_t i = 0; i < 300; ++i) {
    shape.tie_break = i;
    ++counts[decide(shape, builder.fleet(), {}, kNow).chosen->value];
  }
  EXPECT_THAT(counts, ElementsAre(std::pair{0U, 100}, std::pair{1U, 100}, std::pair{2U, 100}));
}

TEST(Decide, SaysWhenRefusingIsCheaperThanTheMissesAnywhere) {
  FleetBuilder builder;
  for (const char* name : {"a", "b"}) builder.decoding(builder.add({.name = name}), 20, {50}, 200);
  const Decision cheap = decide(request(10, 10), builder.fleet(), {}, kNow);
  EXPECT_EQ(cheap.refuse_dollars, Usd{1}) << "the class's value of a miss";
  EXPECT_FALSE(cheap.cheaper_to_refuse);
  const Decision dear = decide(request(20'000, 10), builder.fleet(), {}, kNow);
  EXPECT_TRUE(dear.cheaper_to_refuse) << "20 s of stall make twenty others miss, on either";
  EXPECT_TRUE(dear.chosen) << "acting on it is for whoever admits";

  builder.fleet().classes[0].miss_per_second = Usd{1};
  const Decision by_the_second = decide(request(20'000, 10), builder.fleet(), {}, kNow);
  EXPECT_FALSE(by_the_second.refuse_dollars) << "nobody said what never is worth";
  EXPECT_FALSE(by_the_second.cheaper_to_refuse);
}

TEST(Decide, SaysHowOldTheReadingIsAndNothingWhereThereIsNone) {
  FleetBuilder builder;
  builder.add({.name = "read"});
  builder.add({.name = "never read"});
  builder.fleet().replicas[0].reading = LoadReading{};
  builder.fleet().replicas[0].read_at = kNow - std::chrono::seconds{3};
  const Decision decision = decide(request(10, 10), builder.fleet(), {}, kNow);
  EXPECT_EQ(decision.candidates[0].reading_age, Seconds{3});
  EXPECT_FALSE(decision.candidates[1].reading_age);
}

TEST(Decide, WeighsEveryCandidateOfAFleetThatFillsNoWholeTile) {
  FleetBuilder builder;
  for (int i = 0; i < 37; ++i) builder.add({.name = "r", .usd_per_hour = 10});
  const ReplicaIndex last = builder.add({.name = "last", .usd_per_hour = 1});
  const Decision decision = decide(request(100, 10), builder.fleet(), {}, kNow);
  EXPECT_EQ(decision.candidates.size(), 38U);
  EXPECT_EQ(decision.chosen, last);
}

TEST(Decide, AnswersNothingWhereNobodyRunsTheModel) {
  FleetBuilder builder;
  const Decision decision = decide(request(100, 10), builder.fleet(), {}, kNow);
  EXPECT_FALSE(decision.chosen);
  EXPECT_EQ(decision.chosen_candidate(), nullptr);
  EXPECT_FALSE(decision.hopeless());
}

/// Over random fleets: the choice is feasible, no feasible candidate is cheaper, every dollar is finite and
/// not negative, and equal inputs give equal decisions.
class DecideProperties : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(DecideProperties, ChoosesTheCheapestFeasibleCandidate) {
  std::mt19937_64 random{GetParam()};
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution{low, high}(random);
  };
  FleetBuilder builder;
  for (int i = 0; i < 12; ++i) {
    const ReplicaIndex replica =
        builder.add({.name = "r" + std::to_string(i),
                     .usd_per_hour = real(0, 50),
                     .capacity = static_cast<CapacityKind>(random() % 3),
                     .step_seconds = real(0.001, 0.1),
                     .step_seconds_per_sequence = real(0, 0.001),
                     .prompt_token_seconds = real(1e-6, 1e-3),
                     .context_limit = {static_cast<std::int64_t>(random() % 50'000)}});
    builder.decoding(replica, static_cast<int>(random() % 60), {static_cast<std::int64_t>(random() % 500)},
                     real(1, 900));
    if (random() % 5 == 0) builder.fleet().replicas.back().health.connection_failed(kNow);
  }
  for (int i = 0; i < 50; ++i) {
    RequestShape shape = request(static_cast<std::int64_t>(1 + random() % 60'000),
                                 static_cast<std::int64_t>(1 + random() % 900),
                                 ClassIndex{static_cast<std::uint32_t>(random() % 2)});
    shape.tie_break = random();
    const Decision decision = decide(shape, builder.fleet(), {}, kNow);
    const Candidate* chosen = decision.chosen_candidate();
    for (const Candidate& candidate : decision.candidates) {
      if (!candidate.excluded_by.empty()) continue;
      ASSERT_NE(chosen, nullptr);
      for (const Usd part : {candidate.score.gpu, candidate.score.own_miss, candidate.score.others_miss}) {
        EXPECT_TRUE(std::isfinite(part.value));
        EXPECT_GE(part.value, 0);
      }
      EXPECT_GE(candidate.score.total().value + 1e-9, chosen->score.total().value);
    }
    EXPECT_EQ(chosen == nullptr ? "" : chosen->excluded_by, "");
    EXPECT_EQ(decide(shape, builder.fleet(), {}, kNow).chosen, decision.chosen);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DecideProperties, ::testing::Range(1U, 21U));

/// A fleet of `replicas`, each with requests in flight and with the heads of some prompts.
class ManyCandidates : public ::testing::TestWithParam<std::size_t> {
 protected:
  FleetBuilder builder;
  std::vector<RequestShape> shapes;

  void SetUp() override {
    std::mt19937_64 random{GetParam()};
    for (int i = 0; i < 8; ++i) {
      shapes.push_back(request(static_cast<std::int64_t>(300 + random() % 9000), 200));
      shapes.back().session = i % 2 == 0 ? random() : 0;
      for (std::int64_t block = 0; block < shapes.back().prompt.value / kBlockTokens; ++block)
        shapes.back().prefix.push_back(random());
    }
    for (std::size_t i = 0; i < GetParam(); ++i) {
      const ReplicaIndex replica = builder.add({.name = "r", .usd_per_hour = 1 + static_cast<double>(i % 7)});
      builder.decoding(replica, static_cast<int>(i % 5), {50}, 200);
      builder.fleet().prefixes.hold(replica, shapes[random() % shapes.size()], {100});
    }
    for (ServiceClass& service_class : builder.fleet().classes) service_class.miss_per_second = {0.01};
  }
};

TEST_P(ManyCandidates, AreChosenFromWithoutAnyAllocationOnceTheScratchHasGrown) {
  const CandidateTable table{builder.fleet(), kNow};
  DecisionScratch scratch;
  const auto chosen = [&](const RequestShape& shape) {
    return choose(shape, builder.fleet(), table, {}, kNow, scratch).chosen.has_value();
  };
  for (const RequestShape& shape : shapes) ASSERT_TRUE(chosen(shape));
  const std::size_t before = testing::allocations();
  bool all = true;
  for (const RequestShape& shape : shapes) all = chosen(shape) && all;
  EXPECT_EQ(testing::allocations(), before);
  EXPECT_TRUE(all);
}

TEST_P(ManyCandidates, LeaveNothingButNumbersInAnyLaneAlsoWhereThereIsNoCandidate) {
  const CandidateTable table{builder.fleet(), kNow};
  DecisionScratch scratch;
  for (const RequestShape& shape : shapes) {
    for (const ClassIndex service_class : {FleetBuilder::kInteractive, FleetBuilder::kBatch}) {
      RequestShape asked = shape;
      asked.service_class = service_class;
      ASSERT_TRUE(choose(asked, builder.fleet(), table, {}, kNow, scratch).chosen);
      for (const TileScore& tile : scratch.tiles)
        for (const FloatLanes* lanes : {&tile.prefill, &tile.added_work, &tile.ttft, &tile.tpot,
                                        &tile.miss_probability, &tile.gpu, &tile.own_miss, &tile.others_miss})
          for (const float value : *lanes) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ManyCandidates, ::testing::Values(1, 15, 16, 17, 100));

}  // namespace
}  // namespace fareway
