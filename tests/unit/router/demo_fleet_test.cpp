// What the README says of the demo fleet: its claims, with the numbers that make them so.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "placement/decision.hpp"
#include "router/config/config.hpp"

namespace fareway {
namespace {

using std::chrono::hours;

const TimePoint kNow{hours{100}};

class DemoFleet : public testing::Test {
 protected:
  DemoFleet() {
    for (std::uint32_t i = 0; i < fleet.pools.size(); ++i)
      fleet.pools[i].per_device_hour = config.price_schedules[i].front().per_device_hour;
    for (Replica& replica : fleet.replicas) {
      replica.health.probe_succeeded(kNow, kNow);
      replica.prefill_share_at = replica.read_at = kNow;
    }
  }

  template <class Named>
  static std::uint32_t position(const std::vector<Named>& all, std::string_view name) {
    const auto found = std::ranges::find(all, name, &Named::name);
    if (found == all.end()) throw std::runtime_error("no " + std::string{name} + " in the demo fleet");
    return static_cast<std::uint32_t>(found - all.begin());
  }
  ReplicaIndex replica(std::string_view name) const { return {position(fleet.replicas, name)}; }

  RequestShape request(std::string_view model, std::string_view service_class, std::int64_t prompt,
                       std::int64_t output) const {
    return {.model = {position(fleet.models, model)},
            .service_class = {position(fleet.classes, service_class)},
            .tenant = {0},
            .prompt = {prompt},
            .expected_output = {output},
            .output_limit = Tokens{output},
            .session = 0,
            .prefix = {},
            .tie_break = 0};
  }

  Decision decide_now(const RequestShape& shape) const { return decide(shape, fleet, {}, kNow); }
  std::string chosen(const Decision& decision) const {
    return decision.chosen ? fleet[*decision.chosen].name : "nothing";
  }
  const Candidate& candidate(const Decision& decision, std::string_view name) const {
    return *std::ranges::find(decision.candidates, replica(name), &Candidate::replica);
  }

  /// Interactive chats that decode on a replica at the pace of its own batch.
  void occupy(std::string_view name, int count) {
    Replica& busy = fleet.replicas[replica(name).value];
    const Seconds step = fleet[busy.deployment].speed.step(count, count * 1000.0);
    for (int i = 0; i < count; ++i)
      busy.in_flight.push_back(
          {.id = static_cast<std::uint64_t>(i),
           .service_class = {position(fleet.classes, "interactive")},
           .arrived = kNow - std::chrono::seconds{2},
           .prompt = {900},
           .cached = {},
           .expected_output = 300,
           .generated = {100},
           .first_token = kNow - std::chrono::duration_cast<TimePoint::duration>(100 * step),
           .predicted_ttft = Seconds{0.2},
           .predicted_tpot = step});
  }

  Config config = load_config(FAREWAY_SOURCE_DIR "/deploy/demo.yaml");
  Fleet fleet = config.fleet;
};

TEST_F(DemoFleet, ASessionOf200kTokensGoesToALargeHbmPoolAndOnlyWhereItFits) {
  const Decision decision = decide_now(request("glm-4.6", "standard", 200'000, 1'000));
  EXPECT_EQ(chosen(decision), "mi355x-glm");
  EXPECT_EQ(candidate(decision, "mi300x-glm").excluded_by, "context");
  EXPECT_EQ(candidate(decision, "b200-glm").excluded_by, "context");
  EXPECT_EQ(candidate(decision, "b300-glm").excluded_by, "");
  // What a pair holds: KV pool over 368 KiB a token.
  const auto longest = [&](std::string_view name) {
    return fleet[fleet[replica(name)].deployment].capacity.longest_sequence();
  };
  EXPECT_LT(longest("mi300x-glm"), Tokens{110'000});
  EXPECT_LT(longest("b200-glm"), Tokens{35'000});
  EXPECT_GT(longest("mi355x-glm"), Tokens{650'000});
  EXPECT_GT(longest("b300-glm"), Tokens{540'000});
}

TEST_F(DemoFleet, AnInteractiveRequestGoesToTheTensorParallelPair) {
  const Decision decision = decide_now(request("qwen3.8-27b", "interactive", 1'000, 200));
  EXPECT_EQ(chosen(decision), "mi300x-qwen-pair");
  const Candidate& single = candidate(decision, "mi300x-qwen-a");
  const Candidate& pair = candidate(decision, "mi300x-qwen-pair");
  // 50.3 GiB at an attained 4.1 TB/s are 13 ms a token, with overheads above the target of 15 ms; a pair
  // halves the read.
  EXPECT_GT(single.prediction.tpot, Seconds{0.015});
  EXPECT_LT(pair.prediction.tpot, Seconds{0.013});
  // The pair's GPU seconds cost more; the misses it saves are worth many times that.
  EXPECT_GT(pair.score.gpu, single.score.gpu);
  EXPECT_GT((single.score.own_miss - pair.score.own_miss).value,
            10 * (pair.score.gpu - single.score.gpu).value);
}

TEST_F(DemoFleet, ABatchRequestGoesToTheCheapestDollarsPerToken) {
  for (const char* model : {"qwen3.8-27b", "glm-4.6", "kimi-k2"}) {
    const Decision decision = decide_now(request(model, "batch", 4'000, 500));
    for (const Candidate& other : decision.candidates)
      EXPECT_LE(decision.chosen_candidate()->score.gpu.value, other.score.gpu.value + 1e-12) << model;
  }
  const std::string qwen = chosen(decide_now(request("qwen3.8-27b", "batch", 4'000, 500)));
  EXPECT_TRUE(qwen == "mi300x-qwen-a" || qwen == "mi300x-qwen-b")
      << qwen << ": two devices and their all-reduces cost more";
}

TEST_F(DemoFleet, RaisingAPoolsPriceMovesTrafficOffIt) {
  const RequestShape shape = request("glm-4.6", "batch", 4'000, 500);
  const std::string before = chosen(decide_now(shape));
  const PoolIndex pool = fleet[replica(before)].pool;
  fleet.pools[pool.value].per_device_hour = fleet[pool].per_device_hour * 5;
  EXPECT_NE(chosen(decide_now(shape)), before);
}

TEST_F(DemoFleet, ALoadedPoolLosesTrafficToADearerIdleOneExactlyWhenThatIsCheaper) {
  const RequestShape shape = request("glm-4.6", "standard", 2'000, 300);
  const std::string favourite = chosen(decide_now(shape));
  occupy(favourite, 64);
  const Decision loaded = decide_now(shape);
  const std::string refuge = chosen(loaded);
  ASSERT_NE(refuge, favourite);
  EXPECT_GT(candidate(loaded, refuge).score.gpu, candidate(loaded, favourite).score.gpu)
      << "it is the dearer one";

  // The refuge's price at which both cost the same; a hair above it, the loaded one is right again.
  const Score& there = candidate(loaded, refuge).score;
  const double afford =
      candidate(loaded, favourite).score.total().value - there.own_miss.value - there.others_miss.value;
  const PoolIndex pool = fleet[replica(refuge)].pool;
  const double break_even = static_cast<double>(fleet[pool].per_device_hour.value) * afford / there.gpu.value;
  for (Pool& other : fleet.pools)
    if (other.name != fleet[pool].name && other.name != fleet[fleet[replica(favourite)].pool].name)
      other.per_device_hour = {1000 * kNanoPerUsd};
  fleet.pools[pool.value].per_device_hour = {std::llround(break_even * 0.999)};
  EXPECT_EQ(chosen(decide_now(shape)), refuge);
  fleet.pools[pool.value].per_device_hour = {std::llround(break_even * 1.001)};
  EXPECT_EQ(chosen(decide_now(shape)), favourite);
}

TEST_F(DemoFleet, ALongPromptAvoidsTheReplicaWhereItWouldStallManyDecoders) {
  const RequestShape shape = request("glm-4.6", "batch", 30'000, 300);
  const std::string favourite = chosen(decide_now(shape));
  occupy(favourite, 32);
  const Decision decision = decide_now(shape);
  EXPECT_NE(chosen(decision), favourite);
  EXPECT_GT(candidate(decision, favourite).score.others_miss, decision.chosen_candidate()->score.total());
  EXPECT_EQ(decision.chosen_candidate()->score.others_miss, Usd{0});
}

TEST_F(DemoFleet, ASessionsNextTurnStaysWhereItsCacheIsUnlessMovingIsCheaper) {
  RequestShape turn = request("glm-4.6", "standard", 60'000, 300);
  turn.session = 7;
  const std::string favourite = chosen(decide_now(turn));
  const std::string home = favourite == "b300-glm" ? "mi355x-glm" : "b300-glm";
  fleet.prefixes.hold(replica(home), turn, {300});
  turn.prompt = {60'400};
  const Decision next = decide_now(turn);
  EXPECT_EQ(chosen(next), home) << "60,000 tokens of prefill are saved there";
  EXPECT_LT(candidate(next, home).score.gpu.value, 0.25 * candidate(next, favourite).score.gpu.value);

  occupy(home, 8);
  EXPECT_NE(chosen(decide_now(turn)), home)
      << "its chats would miss for a prefill that another replica has time for";
}

TEST_F(DemoFleet, TheLargeModelIsServedOnlyWhereItFits) {
  const auto kv_pool = [&](std::string_view device_name) {
    const Device& device = fleet.devices[position(fleet.devices, device_name)];
    const Model& kimi = fleet.models[position(fleet.models, "kimi-k2")];
    return capacity_of(kimi, device, {.tp = 4, .dcp = 4},
                       {.weights = fleet[fleet[replica("mi355x-kimi")].deployment].weights,
                        .reserve_per_device = {8 * kGibibyte}})
        .kv_pool;
  };
  EXPECT_LT(kv_pool("MI300X"), Bytes{0});
  EXPECT_LT(kv_pool("B200"), Bytes{0});
  EXPECT_GT(kv_pool("MI355X"), Bytes{0});
  EXPECT_GT(kv_pool("B300"), Bytes{0});
  EXPECT_EQ(decide_now(request("kimi-k2", "batch", 1'000, 100)).candidates.size(), 2U);
}

TEST_F(DemoFleet, PricesOfReservedPoolsDoNotMatter) {
  for (Pool& pool : fleet.pools) pool.capacity = CapacityKind::kReserved;
  const Decision decision = decide_now(request("glm-4.6", "batch", 4'000, 500));
  for (const Candidate& other : decision.candidates) EXPECT_EQ(other.score.gpu, Usd{0});
}

}  // namespace
}  // namespace fareway
