#include <gtest/gtest.h>

#include "placement/model/deployment.hpp"

namespace fareway {
namespace {

constexpr std::int64_t kKibibyte = 1024;
constexpr std::int64_t kMebibyte = 1024 * 1024;

Bytes gib(double count) {
  return {static_cast<std::int64_t>(count * static_cast<double>(kGibibyte))};
}

Device device_of(double hbm_gib) {
  return {.name = "device", .hbm = gib(hbm_gib)};
}

MemoryPlan plan(Bytes weights, double reserve_gib) {
  return {.weights = weights, .reserve_per_device = gib(reserve_gib)};
}

/// Qwen3.8-27B in bf16: 16 GiB of KV at 262,144 tokens and 144 MiB of recurrent state.
Model qwen() {
  return {.name = "qwen3.8-27b",
          .kv_heads = 4,
          .kv_per_token = {64 * kKibibyte},
          .state_per_sequence = {144 * kMebibyte},
          .context_limit = {262'144}};
}

// The published arithmetic: 192 GiB − 50.3 − 8 = 133.7 GiB; 16,528 MiB a sequence, 8 sessions; 656 MiB and
// 208.
TEST(Capacity, ReproducesThePublishedSessionsOfQwenOnMi300x) {
  const Capacity capacity = capacity_of(qwen(), device_of(192), {}, plan(gib(50.3), 8));
  EXPECT_NEAR(static_cast<double>(capacity.kv_pool.value) / static_cast<double>(kGibibyte), 133.7, 1e-6);
  EXPECT_EQ(capacity.sequence({262'144}), Bytes{16'528 * kMebibyte});
  EXPECT_EQ(capacity.sessions({262'144}), 8);
  EXPECT_EQ(capacity.sequence({8'192}), Bytes{656 * kMebibyte});
  EXPECT_EQ(capacity.sessions({8'192}), 208);
}

TEST(Capacity, ReproducesThePublishedSessionsOnAnEightyGigabyteDevice) {
  const Capacity capacity = capacity_of(qwen(), device_of(80), {}, plan(gib(50.3), 6));
  EXPECT_EQ(capacity.sessions({262'144}), 1);
  EXPECT_EQ(capacity.sessions({8'192}), 36);
}

TEST(Capacity, HoldsNothingWhereTheWeightsDoNotFit) {
  // A checkpoint of 1.5 TB on eight devices of 179 GiB.
  const Capacity capacity = capacity_of(qwen(), device_of(179), {.tp = 8}, plan({1'500'000'000'000}, 8));
  EXPECT_LT(capacity.kv_pool, Bytes{0});
  EXPECT_EQ(capacity.sessions({1}), 0);
  EXPECT_EQ(capacity.longest_sequence(), Tokens{0});
}

TEST(Capacity, CopiesKvHeadsBeyondThoseOfTheModelAndDcpSplitsTheCopies) {
  Model latent = qwen();
  latent.kv_heads = 1;  // MLA: one latent for all heads
  const auto per_token = [&](Parallelism parallelism) {
    return capacity_of(latent, device_of(192), parallelism, plan(gib(1), 8)).kv_per_token;
  };
  EXPECT_EQ(per_token({.tp = 1}), latent.kv_per_token);
  EXPECT_EQ(per_token({.tp = 4}), latent.kv_per_token * 4);
  EXPECT_EQ(per_token({.tp = 4, .dcp = 4}), latent.kv_per_token);
}

TEST(Capacity, LongestSequenceIsTheLastThatFits) {
  const Capacity capacity{.kv_pool = {1000}, .kv_per_token = {7}, .state_per_sequence = {20}};
  const Tokens longest = capacity.longest_sequence();
  EXPECT_EQ(capacity.sessions(longest), 1);
  EXPECT_EQ(capacity.sessions(longest + Tokens{1}), 0);
}

}  // namespace
}  // namespace fareway
