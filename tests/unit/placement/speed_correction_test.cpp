#include "placement/speed_correction.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace fareway {
namespace {

/// 10 ms + 0.1 ms a sequence + 0.1 us a context token; prefill 0.1 ms a token and 1 ns a pair.
constexpr SpeedProfile kProfile{.step_floor = 0.010,
                                .expert_weights = 0,
                                .per_sequence = 1e-4,
                                .per_context_token = 1e-7,
                                .per_prompt_token = 1e-4,
                                .per_prompt_pair = 1e-9};

class Replica {
 public:
  explicit Replica(std::uint64_t seed) : random_(seed) {}

  void decodes(SpeedCorrection& correction, const SpeedProfile& real, int times, double noise = 0.1) {
    std::lognormal_distribution<double> error(0, noise);
    for (int i = 0; i < times; ++i) {
      const double batch = 1 + static_cast<double>(random_() % 64);
      const double context = batch * static_cast<double>(random_() % 8000);
      correction.saw_step(kProfile, batch, context, real.step(batch, context) * error(random_));
    }
  }
  void prefills(SpeedCorrection& correction, const SpeedProfile& real, int times) {
    std::lognormal_distribution<double> error(0, 0.1);
    for (int i = 0; i < times; ++i) {
      const double tokens = 100 + static_cast<double>(random_() % 50'000);
      correction.saw_prefill(kProfile, tokens, tokens * tokens / 2, real.prefill(tokens, 0) * error(random_));
    }
  }

 private:
  std::mt19937_64 random_;
};

SpeedProfile slowed(double factor) {
  SpeedProfile profile = kProfile;
  for (double* one : {&profile.step_floor, &profile.per_sequence, &profile.per_context_token,
                      &profile.per_prompt_token, &profile.per_prompt_pair})
    *one *= factor;
  return profile;
}

TEST(SpeedCorrection, LeavesTheProfileAloneUntilSomethingIsSeen) {
  const SpeedProfile same = SpeedCorrection{}.applied_to(kProfile);
  EXPECT_EQ(same.step(8, 1000), kProfile.step(8, 1000));
  EXPECT_EQ(same.prefill(1000, 0), kProfile.prefill(1000, 0));
}

TEST(SpeedCorrection, FindsTheCoefficientThatIsWrong) {
  SpeedProfile real = kProfile;
  real.per_context_token *= 3;  // a poor attention kernel
  SpeedCorrection correction;
  Replica{1}.decodes(correction, real, 400, 0.05);
  const SpeedProfile corrected = correction.applied_to(kProfile);
  EXPECT_NEAR(corrected.step(1, 0) / real.step(1, 0), 1, 0.15);
  EXPECT_NEAR(corrected.step(32, 200'000) / real.step(32, 200'000), 1, 0.1);
}

TEST(SpeedCorrection, PricesAThrottledDeviceAsSlowAtEveryBatchAfterOneLook) {
  SpeedCorrection correction;
  correction.saw_step(kProfile, 4, 4000, slowed(3).step(4, 4000));
  const SpeedProfile corrected = correction.applied_to(kProfile);
  EXPECT_NEAR(corrected.step(4, 4000) / slowed(3).step(4, 4000), 1, 0.25);
  EXPECT_GT(corrected.step(64, 300'000), 2 * kProfile.step(64, 300'000)) << "never seen at that batch";
}

TEST(SpeedCorrection, FollowsASilentSlowDownWithinFiveLooks) {
  SpeedCorrection correction;
  Replica replica{2};
  replica.decodes(correction, kProfile, 500);
  ASSERT_NEAR(correction.decode().factor, 1, 0.05);
  replica.decodes(correction, slowed(3), 5);
  EXPECT_GT(correction.decode().factor, 2.4);
  replica.decodes(correction, kProfile, 5);
  EXPECT_LT(correction.decode().factor, 1.4) << "and a recovery as fast";
}

TEST(SpeedCorrection, IsNotImpressedByASingleHiccup) {
  SpeedCorrection correction;
  Replica replica{3};
  replica.decodes(correction, kProfile, 500);
  correction.saw_step(kProfile, 8, 8000, 20 * kProfile.step(8, 8000));
  EXPECT_LT(correction.decode().factor, 1.1);
}

TEST(SpeedCorrection, LearnsPrefillByItself) {
  SpeedCorrection correction;
  Replica{4}.prefills(correction, slowed(0.5), 200);
  EXPECT_NEAR(correction.prefill().factor, 0.5, 0.05);
  EXPECT_EQ(correction.decode().factor, 1);
  EXPECT_NEAR(correction.applied_to(kProfile).prefill(20'000, 0) / slowed(0.5).prefill(20'000, 0), 1, 0.1);
}

TEST(SpeedCorrection, LetsOldPointsFadeWhenTheSoftwareChanges) {
  SpeedCorrection correction;
  Replica replica{5};
  replica.decodes(correction, slowed(2), 500);
  correction.doubt();
  EXPECT_NEAR(correction.decode().factor, 2, 0.1) << "the best guess until something is seen";
  EXPECT_LE(correction.decode().seen, 1);
  replica.decodes(correction, kProfile, 6);
  EXPECT_NEAR(correction.decode().factor, 1, 0.3);
}

TEST(SpeedCorrection, StaysWithinBoundsWhateverIsReported) {
  SpeedCorrection correction;
  std::mt19937_64 random(6);
  for (int i = 0; i < 3000; ++i) {
    const double batch = static_cast<double>(random() % 300);
    correction.saw_step(kProfile, batch, batch * static_cast<double>(random() % 100'000),
                        Seconds{std::pow(10, static_cast<double>(random() % 12) - 6)});
    correction.saw_prefill(kProfile, static_cast<double>(random() % 100'000), 0,
                           Seconds{std::pow(10, static_cast<double>(random() % 12) - 6)});
    const SpeedProfile corrected = correction.applied_to(kProfile);
    ASSERT_GE(corrected.step_floor, kProfile.step_floor / 16);
    ASSERT_LE(corrected.step_floor, kProfile.step_floor * 16);
    ASSERT_TRUE(std::isfinite(correction.decode().spread));
  }
}

}  // namespace
}  // namespace fareway
