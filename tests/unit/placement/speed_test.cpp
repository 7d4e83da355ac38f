#include <cmath>

#include <gtest/gtest.h>

#include "placement/model/deployment.hpp"

namespace fareway {
namespace {

/// A device without losses, so that the published heuristics (bytes over bandwidth) come out bare.
Device ideal(double terabytes_per_second, double collective_microseconds = 0) {
  return {.name = "ideal",
          .hbm = {80 * kGibibyte},
          .hbm_bandwidth = {terabytes_per_second * 1e12},
          .bandwidth_efficiency = 1,
          .bf16_flops = {1e15},
          .fp8_flops = {2e15},
          .compute_efficiency = 1,
          .link_bandwidth = {450e9},
          .link_pairwise = {},
          .collective_latency = Seconds{collective_microseconds * 1e-6},
          .layer_overhead = Seconds{0}};
}

Model dense() {
  return {.name = "dense",
          .total_parameters = 27'000'000'000,
          .active_parameters = 27'000'000'000,
          .layers = 64,
          .hidden_size = 5120,
          .kv_heads = 4,
          .kv_per_token = {65'536}};
}

constexpr Bytes kWeights{54'000'000'000};

double floor_tokens_per_second(const Device& device, Parallelism parallelism = {}) {
  return 1 / roofline(dense(), device, parallelism, kWeights, NumberFormat::kBf16).step_floor;
}

// Published decode heuristic, batch 1, 54 GB checkpoint: 98, 62 and 148 tokens/s at 5.3, 3.35 and 8 TB/s.
TEST(Roofline, ReproducesThePublishedBatchOneHeuristic) {
  EXPECT_NEAR(floor_tokens_per_second(ideal(5.3)), 98, 1);
  EXPECT_NEAR(floor_tokens_per_second(ideal(3.35)), 62, 1);
  EXPECT_NEAR(floor_tokens_per_second(ideal(8)), 148, 1);
}

// Published: two 80 GB devices in TP take 8.1 ms a step, 124 tokens/s; 107 with two all-reduces in each of 64
// layers.
TEST(Roofline, ReproducesThePublishedTensorParallelPair) {
  EXPECT_NEAR(floor_tokens_per_second(ideal(3.35), {.tp = 2}), 124, 1);
  EXPECT_NEAR(floor_tokens_per_second(ideal(3.35, 10), {.tp = 2}), 107, 1);
}

TEST(Roofline, ReadsOnlyTheExpertsThatABatchPicks) {
  Model sparse = dense();
  sparse.active_parameters = 3'000'000'000;
  sparse.experts = 128;
  sparse.experts_per_token = 8;
  const SpeedProfile profile = roofline(sparse, ideal(5), {}, kWeights, NumberFormat::kBf16);
  // X = (27 − 3)/(1 − 8/128) = 25.6 billion routed parameters of 27: step(∞) reads all 54 GB.
  EXPECT_NEAR(profile.expert_weights, 25.6 / 27 * 54e9 / 5e12, 1e-9);
  EXPECT_NEAR(profile.step_floor + profile.expert_weights, 54e9 / 5e12, 1e-9);
  const double one = profile.step(1, 0).count() - profile.per_sequence;
  EXPECT_NEAR(one, 6e9 / 5e12, 1e-9) << "batch 1 reads the 3 billion active parameters, 6 GB";
}

TEST(SpeedProfile, StepAndPrefillAreTheirFormulae) {
  const SpeedProfile profile{.step_floor = 1,
                             .expert_weights = 8,
                             .per_sequence = 0.1,
                             .per_context_token = 0.01,
                             .per_prompt_token = 0.002,
                             .per_prompt_pair = 1e-6,
                             .expert_share = 0.5};
  EXPECT_DOUBLE_EQ(profile.step(2, 30).count(), 1 + 8 * 0.75 + 0.2 + 0.3);
  EXPECT_DOUBLE_EQ(profile.mixed_step(1, 0, 1).count(), 1 + 8 * 0.75 + 0.1)
      << "prompt tokens pick experts too";
  EXPECT_DOUBLE_EQ(profile.prefill(100, 50).count(), 0.2 + 1e-6 * (100 * 50 + 5000));
  // Ten answer tokens over a mean context of 155: 10 × (0.1 + 0.01 × 155) beside the prefill.
  EXPECT_DOUBLE_EQ(profile.added_work(100, 50, 10).count(),
                   profile.prefill(100, 50).count() + 10 * (0.1 + 1.55));
}

}  // namespace
}  // namespace fareway
