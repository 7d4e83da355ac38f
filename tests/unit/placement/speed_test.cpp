#include "placement/model/speed.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

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
