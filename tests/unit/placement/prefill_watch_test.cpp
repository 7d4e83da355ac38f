#include "placement/prefill_watch.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

using namespace std::chrono_literals;

constexpr Seconds kStep{0.010};
constexpr double kRoom = 8192;
const TimePoint kStart{std::chrono::hours{1}};

TEST(PrefillWatch, MeasuresAQueueFromItsFirstPromptToItsLastFirstToken) {
  PrefillWatch watch;
  watch.queue_is(false, kStart);
  watch.computed(1000, 0, kStep, kRoom, kStart + 2s);
  watch.computed(500, 2000, kStep, kRoom, kStart + 3s);
  const auto run = watch.take(kStart + 3s);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->lasted, Seconds{3});
  EXPECT_EQ(run->tokens, 1500);
  EXPECT_EQ(run->pairs, 1000 * 500 + 500 * (2000 + 250));
  EXPECT_EQ(run->steps, 2);
  EXPECT_TRUE(run->from_idle);
}

TEST(PrefillWatch, CountsThePromptsOfOneStepAsOneAndALongPromptAsItsChunks) {
  PrefillWatch watch;
  watch.queue_is(false, kStart);
  watch.computed(100, 0, kStep, kRoom, kStart + 1s);
  watch.computed(100, 0, kStep, kRoom, kStart + 1s);
  EXPECT_NEAR(watch.so_far().steps, 1, 0.02);
  watch.computed(4 * kRoom, 0, kStep, kRoom, kStart + 5s);
  EXPECT_NEAR(watch.so_far().steps, 5, 0.02);
}

TEST(PrefillWatch, ARunThatFollowsAnotherBeginsWithoutAWaitForAStep) {
  PrefillWatch watch;
  watch.queue_is(false, kStart);
  watch.computed(1000, 0, kStep, kRoom, kStart + 1s);
  ASSERT_TRUE(watch.take(kStart + 1s));
  watch.computed(1000, 0, kStep, kRoom, kStart + 3s);
  const auto next = watch.take(kStart + 3s);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->lasted, Seconds{2});
  EXPECT_FALSE(next->from_idle);
}

TEST(PrefillWatch, KnowsNothingOfAQueueThatHeldUnseenWorkUntilItWasEmpty) {
  PrefillWatch watch;
  watch.queue_is(false, kStart);
  watch.spoil();
  watch.computed(1000, 0, kStep, kRoom, kStart + 1s);
  EXPECT_FALSE(watch.take(kStart + 1s));
  watch.queue_is(true, kStart + 2s);
  watch.queue_is(false, kStart + 5s);
  watch.computed(1000, 0, kStep, kRoom, kStart + 6s);
  const auto run = watch.take(kStart + 6s);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->lasted, Seconds{1});
}

TEST(PrefillWatch, AddsUpTheTimeInWhichPromptsWereThere) {
  PrefillWatch watch;
  watch.queue_is(true, kStart);
  EXPECT_EQ(watch.take_busy(kStart + 1s), Seconds{0});
  watch.queue_is(false, kStart + 2s);
  watch.queue_is(false, kStart + 3s);
  watch.queue_is(true, kStart + 4s);
  watch.queue_is(false, kStart + 9s);
  EXPECT_EQ(watch.take_busy(kStart + 10s), Seconds{3});
  EXPECT_EQ(watch.take_busy(kStart + 12s), Seconds{2}) << "still busy, counted from the last time";
}

}  // namespace
}  // namespace fareway
