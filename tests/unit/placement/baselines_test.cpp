#include <array>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "placement/baselines/policy.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;
using testing::request;

ReplicaIndex chosen(PlacementPolicy& policy, const RequestShape& shape, const Fleet& fleet,
                    std::span<const ReplicaIndex> excluded = {}) {
  const CandidateTable table{fleet, kNow};
  const Verdict verdict =
      policy.choose({.shape = shape, .fleet = fleet, .table = table, .excluded = excluded, .now = kNow});
  EXPECT_EQ(verdict.kind, Verdict::Kind::kPlace);
  return verdict.candidate.replica;
}

RequestShape drawn(std::uint64_t tie_break) {
  RequestShape shape = request(100, 100);
  shape.tie_break = tie_break * 0x9e3779b97f4a7c15U;
  return shape;
}

TEST(Baselines, EveryOneChoosesOnlyFeasibleReplicasAndRefusesOnlyWithoutAny) {
  FleetBuilder builder;
  const ReplicaIndex out = builder.add({.name = "out"});
  const ReplicaIndex failed = builder.add({.name = "failed"});
  const ReplicaIndex in = builder.add({.name = "in"});
  builder.fleet().replicas[out.value].health.connection_failed(kNow);
  const std::array excluded{failed};
  for (const MakePolicy make : all_baselines()) {
    const auto policy = make();
    for (std::uint64_t i = 0; i < 20; ++i)
      EXPECT_EQ(chosen(*policy, drawn(i), builder.fleet(), excluded), in) << policy->name();
    const std::array both{failed, in};
    const RequestShape shape = drawn(1);
    const CandidateTable table{builder.fleet(), kNow};
    const PlacementQuestion question{
        .shape = shape, .fleet = builder.fleet(), .table = table, .excluded = both, .now = kNow};
    EXPECT_EQ(policy->choose(question).kind, Verdict::Kind::kRefuse) << policy->name();
  }
}

TEST(Baselines, EveryOneHasAName) {
  std::set<std::string> names;
  for (const MakePolicy make : all_baselines()) names.emplace(make()->name());
  EXPECT_EQ(names.size(), 13u);
}

TEST(Baselines, RoundRobinTakesTurns) {
  FleetBuilder builder;
  for (const char* name : {"a", "b", "c"}) builder.add({.name = name});
  const auto policy = round_robin();
  for (std::uint32_t i = 0; i < 6; ++i)
    EXPECT_EQ(chosen(*policy, request(1, 1), builder.fleet()), ReplicaIndex{i % 3});
}

TEST(Baselines, RandomChoiceSpreadsEvenly) {
  FleetBuilder builder;
  for (const char* name : {"a", "b", "c", "d"}) builder.add({.name = name});
  const auto policy = random_choice();
  std::map<std::uint32_t, int> counts;
  for (std::uint64_t i = 0; i < 4000; ++i) ++counts[chosen(*policy, drawn(i), builder.fleet()).value];
  for (const auto& [replica, count] : counts) EXPECT_NEAR(count, 1000, 150) << replica;
}

TEST(Baselines, LeastRequestsCountsRequestsWhateverTheyWeigh) {
  FleetBuilder builder;
  const ReplicaIndex busy = builder.add({.name = "busy"});
  const ReplicaIndex free = builder.add({.name = "free", .step_seconds = 1, .prompt_token_seconds = 1});
  builder.decoding(busy, 2, Tokens{1}, 10);
  builder.decoding(free, 1, Tokens{1}, 10'000);
  EXPECT_EQ(chosen(*least_requests(), request(1, 1), builder.fleet()), free);
}

TEST(Baselines, EqualChoicesAreSpreadWithoutFavouringAName) {
  FleetBuilder builder;
  for (const char* name : {"a", "b", "c", "d"}) builder.add({.name = name});
  const auto policy = least_requests();
  std::map<std::uint32_t, int> counts;
  for (std::uint64_t i = 0; i < 4000; ++i) ++counts[chosen(*policy, drawn(i), builder.fleet()).value];
  EXPECT_EQ(counts.size(), 4u);
  for (const auto& [replica, count] : counts) EXPECT_NEAR(count, 1000, 150) << replica;
}

TEST(Baselines, PowerOfTwoNeverTakesTheMostLoadedUnlessItDrewItTwice) {
  FleetBuilder builder;
  for (int i = 0; i < 4; ++i) builder.decoding(builder.add({.name = "r"}), i, Tokens{1}, 10);
  const auto policy = power_of_two();
  std::map<std::uint32_t, int> counts;
  for (std::uint64_t i = 0; i < 4000; ++i) ++counts[chosen(*policy, drawn(i), builder.fleet()).value];
  // Of 16 ordered pairs the most loaded wins one, the least loaded seven.
  EXPECT_NEAR(counts[3], 250, 90);
  EXPECT_NEAR(counts[0], 1750, 200);
}

TEST(Baselines, WeightsByCapacityFollowThroughput) {
  FleetBuilder builder;
  builder.add({.name = "fast", .prompt_token_seconds = 0});
  builder.add({.name = "slow", .step_seconds = 0.030, .prompt_token_seconds = 0});
  const auto policy = weighted_by_capacity();
  int fast = 0;
  for (std::uint64_t i = 0; i < 400; ++i)
    fast += chosen(*policy, drawn(i), builder.fleet()).value == 0 ? 1 : 0;
  EXPECT_EQ(fast, 300);
}

TEST(Baselines, WeightedLeastConnectionsAllowsAFasterReplicaMore) {
  FleetBuilder builder;
  const ReplicaIndex fast = builder.add({.name = "fast", .prompt_token_seconds = 0});
  const ReplicaIndex slow = builder.add({.name = "slow", .step_seconds = 0.030, .prompt_token_seconds = 0});
  builder.decoding(fast, 4, Tokens{1}, 10);
  builder.decoding(slow, 1, Tokens{1}, 10);
  EXPECT_EQ(chosen(*weighted_least_connections(), request(1, 1), builder.fleet()), fast);
  builder.decoding(fast, 2, Tokens{1}, 10);
  EXPECT_EQ(chosen(*weighted_least_connections(), request(1, 1), builder.fleet()), slow);
}

TEST(Baselines, ASessionStaysWhereItsHashPutsItWhenAnotherReplicaLeaves) {
  FleetBuilder builder;
  for (const char* name : {"a", "b", "c", "d"}) builder.add({.name = name});
  const auto policy = session_hash();
  int moved = 0;
  std::map<std::uint32_t, int> counts;
  for (std::uint64_t session = 1; session <= 400; ++session) {
    RequestShape shape = drawn(session);
    shape.session = session * 77;
    const ReplicaIndex home = chosen(*policy, shape, builder.fleet());
    ++counts[home.value];
    shape.tie_break = 5;
    const std::array without{ReplicaIndex{0}};
    const ReplicaIndex after = chosen(*policy, shape, builder.fleet(), without);
    if (home.value != 0) moved += after == home ? 0 : 1;
  }
  EXPECT_EQ(moved, 0);
  for (const auto& [replica, count] : counts) EXPECT_NEAR(count, 100, 40) << replica;
}

TEST(Baselines, CacheAwareFollowsALongMatchUntilTheFleetIsOutOfBalance) {
  FleetBuilder builder;
  const ReplicaIndex warm = builder.add({.name = "warm"});
  const ReplicaIndex cold = builder.add({.name = "cold"});
  RequestShape shape = request(1000, 10);
  shape.prefix = {1, 2, 3};
  builder.fleet().prefixes.hold(warm, shape, {});
  EXPECT_EQ(chosen(*cache_aware(), shape, builder.fleet()), warm);
  builder.decoding(warm, 64, Tokens{1}, 10);
  EXPECT_EQ(chosen(*cache_aware(), shape, builder.fleet()), warm);
  builder.decoding(warm, 1, Tokens{1}, 10);
  EXPECT_EQ(chosen(*cache_aware(), shape, builder.fleet()), cold);
}

TEST(Baselines, CacheAwareWithoutAMatchTakesWhoCachesLeast) {
  FleetBuilder builder;
  const ReplicaIndex full = builder.add({.name = "full"});
  const ReplicaIndex empty = builder.add({.name = "empty"});
  RequestShape other = request(1000, 10);
  other.prefix = {7, 8, 9};
  builder.fleet().prefixes.hold(full, other, {});
  builder.decoding(empty, 3, Tokens{1}, 10);
  EXPECT_EQ(chosen(*cache_aware(), request(1000, 10), builder.fleet()), empty);
}

TEST(Baselines, BlockCostWeighsMissingBlocksAgainstActiveOnes) {
  FleetBuilder builder;
  const ReplicaIndex warm = builder.add({.name = "warm"});
  const ReplicaIndex cold = builder.add({.name = "cold"});
  RequestShape shape = request(1000, 10);
  shape.prefix = {1, 2, 3};  // 768 tokens
  builder.fleet().prefixes.hold(warm, shape, {});
  builder.decoding(warm, 7, Tokens{1}, 10);  // of 101 tokens each
  EXPECT_EQ(chosen(*block_cost(), shape, builder.fleet()), warm);
  builder.decoding(warm, 1, Tokens{1}, 10);
  EXPECT_EQ(chosen(*block_cost(), shape, builder.fleet()), cold);
}

TEST(Baselines, LeastKvCountsTokensRatherThanRequests) {
  FleetBuilder builder;
  const ReplicaIndex many = builder.add({.name = "many"});
  const ReplicaIndex heavy = builder.add({.name = "heavy"});
  builder.decoding(many, 3, Tokens{1}, 10);
  builder.decoding(heavy, 1, Tokens{5000}, 10'000);
  EXPECT_EQ(chosen(*least_kv(), request(1, 1), builder.fleet()), many);
}

TEST(Baselines, LowestPriceFillsTheCheapestPoolBeforeAnyOther) {
  FleetBuilder builder;
  const ReplicaIndex cheap = builder.add({.name = "cheap", .usd_per_hour = 2});
  const ReplicaIndex dear = builder.add({.name = "dear", .usd_per_hour = 6});
  builder.decoding(cheap, 255, Tokens{1}, 10);
  EXPECT_EQ(chosen(*lowest_price(), request(1, 1), builder.fleet()), cheap);
  builder.decoding(cheap, 1, Tokens{1}, 10);
  EXPECT_EQ(chosen(*lowest_price(), request(1, 1), builder.fleet()), dear);
}

TEST(Baselines, PinnedClassesGiveTheDearestClassTheDearestPools) {
  FleetBuilder builder;  // two classes: interactive worth a dollar, batch a cent
  const ReplicaIndex cheap = builder.add({.name = "cheap", .usd_per_hour = 2});
  builder.add({.name = "middle", .usd_per_hour = 4});
  builder.add({.name = "dear", .usd_per_hour = 6});
  const auto policy = pinned_classes();
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_NE(chosen(*policy, drawn(i), builder.fleet()), cheap);
    RequestShape batch = drawn(i);
    batch.service_class = FleetBuilder::kBatch;
    EXPECT_EQ(chosen(*policy, batch, builder.fleet()), cheap);
  }
}

TEST(Baselines, ShortestPredictedLatencyTakesAFastReplicaUntilItsQueueIsLonger) {
  FleetBuilder builder;
  const ReplicaIndex fast = builder.add({.name = "fast", .step_seconds_per_sequence = 0.001});
  const ReplicaIndex slow = builder.add({.name = "slow", .step_seconds = 0.020});
  builder.decoding(fast, 5, Tokens{1}, 100);
  EXPECT_EQ(chosen(*shortest_predicted_latency(), request(100, 100), builder.fleet()), fast);
  builder.decoding(fast, 15, Tokens{1}, 100);
  EXPECT_EQ(chosen(*shortest_predicted_latency(), request(100, 100), builder.fleet()), slow);
}

}  // namespace
}  // namespace fareway
