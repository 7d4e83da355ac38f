#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "placement/simulation/dollar_policy.hpp"
#include "placement/simulation/load_bound.hpp"
#include "placement/simulation/presence.hpp"
#include "placement/simulation/simulation.hpp"

namespace fareway::simulation {
namespace {

/// Advises what it is told to, once.
class Told final : public Scaler {
 public:
  std::string_view name() const override { return "told"; }
  void placed(Usd, Usd) override {}
  std::optional<ScalingAdvice> review(std::span<const ReplicaUse>, Seconds) override {
    return std::exchange(advice, std::nullopt);
  }
  std::optional<ScalingAdvice> advice;
};

TEST(Presence, AReplicaThatIsLetGoIsPaidUntilItsLastRequestEnds) {
  const ReferenceScene scene = reference_scene(CapacityKind::kReserved);
  Presence presence(scene.fleet, 0);
  Told scaler;
  const ReplicaIndex b300{7};  // $48 an hour of $236
  presence.placed(b300, 0);
  scaler.advice = ScalingAdvice{ScalingAdvice::Kind::kLetGo, b300, {}};
  presence.review(&scaler, 100);
  EXPECT_EQ(presence.excluded(), std::vector{b300});
  EXPECT_NEAR(presence.paid().value, 236.0 * 100 / 3600, 1e-9);
  presence.review(&scaler, 200);
  EXPECT_NEAR(presence.paid().value, 236.0 * 200 / 3600, 1e-9);
  presence.ended(b300, 200);
  presence.review(&scaler, 200);
  presence.review(&scaler, 300);
  EXPECT_NEAR(presence.paid().value, (236.0 * 200 + 188.0 * 100) / 3600, 1e-9);
}

TEST(Presence, AReplicaTakenInIsPaidAtOnceAndServesOnceItHasStarted) {
  const ReferenceScene scene = reference_scene(CapacityKind::kReserved);
  Presence presence(scene.fleet, 60);
  Told scaler;
  const ReplicaIndex b300{7};
  scaler.advice = ScalingAdvice{ScalingAdvice::Kind::kLetGo, b300, {}};
  presence.review(&scaler, 0);
  presence.review(&scaler, 1);
  presence.forget_paid();
  scaler.advice = ScalingAdvice{ScalingAdvice::Kind::kTakeIn, b300, {}};
  presence.review(&scaler, 1);
  presence.review(&scaler, 50);
  EXPECT_EQ(presence.excluded(), std::vector{b300});
  EXPECT_NEAR(presence.paid().value, 236.0 * 49 / 3600, 1e-9);
  presence.review(&scaler, 61);
  EXPECT_TRUE(presence.excluded().empty());
}

TEST(Elastic, AQuietFleetShrinksAndStillMeetsItsObjectives) {
  const std::vector<Trace> traces{generate_trace({}, 11)};
  const Workload workload(traces, {.rate = 2, .seconds = 1500});
  DollarPolicy policy;
  const auto scaler = in_and_out();
  const Outcome outcome = simulate(workload, policy, reference_scene(CapacityKind::kReserved),
                                   {.scaler = scaler.get(), .warm_up_seconds = 900});
  EXPECT_LT(outcome.gpu.value, 0.6 * 236.0 * 600 / 3600);
  EXPECT_GE(outcome.attainment(), 0.98);
}

TEST(LoadBound, OfPrefillAloneIsTheFleetsPrefillRate) {
  // Batch requests of one token: no TTFT target, so only work counts. Decoding 1 token at batch 256 is nearly
  // free.
  const ReferenceScene scene = reference_scene(CapacityKind::kReserved);
  std::vector<Arrival> arrivals(100, Arrival{.prompt = 8192, .output = 1, .service_class = kBatch});
  double rate = 0;
  for (const EngineParameters& engine : scene.engines)
    rate += 1 / (engine.speed.prefill(8192, 0).count() + engine.speed.step(256, 256 * 8192.5).count() / 256);
  EXPECT_NEAR(load_bound(arrivals, scene, 1), rate, 0.001 * rate);
  EXPECT_NEAR(load_bound(arrivals, scene, 0.5), 2 * rate, 0.002 * rate);
}

TEST(LoadBound, CountsAPrefixOnlyTheFirstTime) {
  const ReferenceScene scene = reference_scene(CapacityKind::kReserved);
  const std::vector<BlockId> blocks{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<Arrival> fresh(100, Arrival{.prompt = 4096, .output = 1, .service_class = kBatch});
  std::vector<Arrival> shared = fresh;
  for (Arrival& arrival : shared) arrival.blocks = blocks;
  EXPECT_GT(load_bound(shared, scene, 1), 5 * load_bound(fresh, scene, 1));
}

TEST(LoadBound, LiesAboveWhatAnyPolicyReaches) {
  const std::vector<Trace> traces{generate_trace({}, 11)};
  const Workload workload(traces, {.rate = 10, .seconds = 100});
  const ReferenceScene scene = reference_scene(CapacityKind::kReserved);
  DollarPolicy policy;
  const double bound = load_bound(workload.arrivals(), scene, 0.99);
  const Workload beyond(traces, {.rate = bound, .seconds = 40});
  EXPECT_LT(simulate(beyond, policy, reference_scene(CapacityKind::kReserved), {.warm_up_seconds = 10})
                .attainment(),
            0.99);
}

}  // namespace
}  // namespace fareway::simulation
