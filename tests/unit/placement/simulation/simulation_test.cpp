#include "placement/simulation/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "placement/simulation/dollar_policy.hpp"
#include "placement/simulation/goodput.hpp"

namespace fareway::simulation {
namespace {

Workload generated(double rate, double seconds = 60, std::uint64_t seed = 1) {
  const std::vector<Trace> traces{generate_trace({}, 11)};
  return Workload(traces, {.rate = rate, .seconds = seconds, .seed = seed});
}

Outcome run(const Workload& workload, PlacementPolicy& policy, const SceneFaults& faults = {}) {
  return simulate(workload, policy, reference_scene(CapacityKind::kReserved, faults),
                  {.warm_up_seconds = 20});
}

TEST(Simulation, CountsEveryRequestOnceAndPaysRateTimesTime) {
  const Workload workload = generated(10);
  DollarPolicy policy;
  const Outcome outcome = run(workload, policy);
  const auto counted =
      std::ranges::count_if(workload.arrivals(), [](const Arrival& a) { return a.time >= 20; });
  EXPECT_EQ(outcome.all().requests, counted);
  EXPECT_EQ(outcome.seconds, 40);
  EXPECT_NEAR(outcome.gpu.value, 236.0 * 40 / 3600, 1e-9);
  std::int64_t prompts = 0;
  for (const Arrival& arrival : workload.arrivals()) prompts += arrival.time >= 20 ? arrival.prompt : 0;
  EXPECT_EQ(outcome.prompt_tokens, prompts);
}

TEST(Simulation, MissedDollarsAreTheClassesWorthTimesTheirMisses) {
  const Workload workload = generated(60);
  const auto policy = round_robin();
  const Outcome outcome = run(workload, *policy);
  const auto missed = [&](ClassIndex c) {
    return static_cast<double>(outcome.classes[c.value].requests - outcome.classes[c.value].met);
  };
  EXPECT_GT(missed(kInteractive), 0);
  EXPECT_NEAR(outcome.missed.value,
              0.02 * missed(kInteractive) + 0.01 * missed(kStandard) + 0.005 * missed(kBatch), 1e-9);
}

Outcome run_with_queue(double rate) {
  DollarPolicy policy;
  return simulate(generated(rate), policy, reference_scene(CapacityKind::kReserved),
                  {.queue = QueueLimits{}, .warm_up_seconds = 20});
}

TEST(Queue, AtThreeTimesTheLoadGoodputStaysWithinATenthOfItsPeak) {
  constexpr double kServed = 20;  // requests a second of which 99 % meet their objectives
  double peak = 0;
  double last = 0;
  for (const double load : {1.0, 2.0, 3.0}) {
    const Outcome outcome = run_with_queue(load * kServed);
    last = static_cast<double>(outcome.all().met) / outcome.seconds;
    peak = std::max(peak, last);
  }
  EXPECT_GT(peak, kServed);
  EXPECT_GE(last, 0.9 * peak);
}

TEST(Queue, UnderOverloadTheDearestClassLosesLessThanWithoutIt) {
  // One seed of an overloaded fleet says little: what misses depends on every placement before.
  ClassOutcome with;
  ClassOutcome without;
  double missed_with = 0;
  double missed_without = 0;
  const auto add = [](ClassOutcome& sum, double& missed, const Outcome& outcome) {
    sum.requests += outcome.classes[kInteractive.value].requests;
    sum.met += outcome.classes[kInteractive.value].met;
    missed += outcome.missed.value;
  };
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    DollarPolicy policy;
    add(with, missed_with,
        simulate(generated(60, 60, seed), policy, reference_scene(CapacityKind::kReserved),
                 {.queue = QueueLimits{}, .warm_up_seconds = 20}));
    DollarPolicy plain;
    add(without, missed_without, run(generated(60, 60, seed), plain));
  }
  EXPECT_GT(with.attainment(), without.attainment() + 0.04);
  EXPECT_LT(missed_with, 0.87 * missed_without);
}

TEST(Queue, ChangesNothingWhereEverybodyIsServedInTime) {
  const Outcome outcome = run_with_queue(10);
  EXPECT_GE(outcome.attainment(), 0.995);
  EXPECT_EQ(outcome.all().refused, 0);
}

TEST(Queue, EveryRequestIsServedOrRefusedOnce) {
  const Workload workload = generated(60);
  const auto counted =
      std::ranges::count_if(workload.arrivals(), [](const Arrival& a) { return a.time >= 20; });
  DollarPolicy policy;
  const Outcome outcome = simulate(workload, policy, reference_scene(CapacityKind::kReserved),
                                   {.queue = QueueLimits{.max_requests = 50}, .warm_up_seconds = 20});
  EXPECT_EQ(outcome.all().requests, counted);
  EXPECT_GT(outcome.all().refused, 0);
  std::int64_t prompts = 0;
  for (const Arrival& arrival : workload.arrivals()) prompts += arrival.time >= 20 ? arrival.prompt : 0;
  EXPECT_LT(outcome.prompt_tokens, prompts);
}

TEST(Simulation, IsTheSameEveryTime) {
  const auto summary = [] {
    DollarPolicy policy;
    const Outcome outcome = run(generated(15), policy);
    return std::tuple{outcome.all().met, outcome.all().tokens_met, outcome.cached_tokens, outcome.moves,
                      outcome.missed.value};
  };
  EXPECT_EQ(summary(), summary());
}

TEST(Simulation, AnUnloadedFleetMeetsEveryObjective) {
  DollarPolicy policy;
  EXPECT_EQ(run(generated(2), policy).attainment(), 1);
}

TEST(Simulation, ASlowReplicaIsSlowInTruthAndNotInTheProfile) {
  const ReferenceScene scene = reference_scene(CapacityKind::kReserved, {.slow_replica = 3, .slowdown = 3});
  const SpeedProfile& told = scene.fleet.deployments[3].speed;
  const SpeedProfile& truth = scene.engines[3].speed;
  EXPECT_NEAR(truth.step(10, 1000) / told.step(10, 1000), 3, 1e-9);
  EXPECT_NEAR(truth.prefill(1000, 0) / told.prefill(1000, 0), 3, 1e-9);
  EXPECT_EQ(scene.engines[2].speed.step_floor, scene.fleet.deployments[2].speed.step_floor);
}

TEST(Simulation, AProfileErrorIsInThePictureAndNotInTheTruth) {
  const ReferenceScene right = reference_scene(CapacityKind::kReserved);
  const ReferenceScene wrong = reference_scene(CapacityKind::kReserved, {.profile_error = 0.2});
  int up = 0;
  for (std::size_t i = 0; i < right.engines.size(); ++i) {
    EXPECT_EQ(right.engines[i].speed.step_floor, wrong.engines[i].speed.step_floor);
    const double ratio =
        wrong.fleet.deployments[i].speed.step_floor / right.fleet.deployments[i].speed.step_floor;
    EXPECT_NEAR(std::abs(ratio - 1), 0.2, 1e-9);
    up += ratio > 1 ? 1 : 0;
  }
  EXPECT_GT(up, 0);
  EXPECT_LT(up, 8);
}

TEST(ReferenceScene, CostsWhatItsPoolsCost) {
  const ReferenceScene scene = reference_scene(CapacityKind::kReserved);
  double usd_per_hour = 0;
  for (const Replica& replica : scene.fleet.replicas)
    usd_per_hour += to_usd_per_hour(scene.fleet.group_rate(replica)).value;
  EXPECT_NEAR(usd_per_hour, 236, 1e-9);
}

TEST(ReferenceScene, SpeedsReproduceThePublishedRuns) {
  // InferenceX, DeepSeek-R1-0528 FP8, SGLang, TP8, May 2026: median TPOT at 1k/1k and 64 streams (MI300X,
  // B200, B300) or 8k/1k and 4 streams (MI355X), by TPOT = D + (b − 1)·P/out.
  const ReferenceScene scene = reference_scene(CapacityKind::kReserved);
  const auto tpot = [&](std::size_t replica, double streams, double in, double out) {
    const SpeedProfile& speed = scene.engines[replica].speed;
    return speed.step(streams, streams * (in + out / 2)).count() +
           (streams - 1) * speed.prefill(in, 0).count() / out;
  };
  EXPECT_NEAR(tpot(0, 64, 1024, 1024) / 0.0407, 1, 0.10);
  EXPECT_NEAR(tpot(2, 4, 8192, 1024) / 0.01226, 1, 0.15);
  EXPECT_NEAR(tpot(4, 64, 1024, 1024) / 0.0218, 1, 0.10);
  EXPECT_NEAR(tpot(6, 64, 1024, 1024) / 0.0212, 1, 0.10);
}

TEST(Goodput, FindsTheHighestRateThatHolds) {
  const auto run_at = [](double rate) {
    Outcome outcome;
    outcome.classes[0] = {.requests = 1000, .met = rate <= 37 ? 995 : 900};
    return outcome;
  };
  for (const double first : {1.0, 37.0, 500.0}) {
    const Goodput goodput = find_goodput({.first_rate = first}, run_at);
    EXPECT_LE(goodput.best.rate, 37);
    EXPECT_GE(goodput.best.rate, 37 / 1.011);
    EXPECT_TRUE(std::ranges::is_sorted(goodput.points, {}, &LoadPoint::rate));
  }
}

TEST(Goodput, IsZeroWhereNoRateHolds) {
  const auto never = [](double) {
    Outcome outcome;
    outcome.classes[0] = {.requests = 1000, .met = 0};
    return outcome;
  };
  EXPECT_EQ(find_goodput({}, never).best.rate, 0);
}

}  // namespace
}  // namespace fareway::simulation
