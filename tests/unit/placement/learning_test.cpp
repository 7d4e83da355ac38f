#include "placement/learning.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace fareway {
namespace {

constexpr ModelIndex kModel{0};
constexpr ClassIndex kClass{1};

TEST(Estimates, StartAtFourBytesATokenAndLearnFromUsage) {
  Estimates estimates{1, 2};
  EXPECT_EQ(estimates.prompt(kModel, 4000), Tokens{1000});
  for (int i = 0; i < 200; ++i) estimates.saw_prompt(kModel, 2000, {1000});
  EXPECT_NEAR(static_cast<double>(estimates.prompt(kModel, 4000).value), 2000, 10);
}

TEST(Estimates, ShortPromptsTeachTheTemplatesOverheadAndLeaveLongOnesAlone) {
  Estimates estimates{1, 2};
  for (int i = 0; i < 200; ++i)
    estimates.saw_prompt(kModel, 5, {20});  // "Hello", and the chat template around it
  EXPECT_NEAR(static_cast<double>(estimates.prompt(kModel, 5).value), 20, 1);
  EXPECT_NEAR(static_cast<double>(estimates.prompt(kModel, 800'000).value), 200'000, 100);
}

TEST(Estimates, ExpectTheUsualAnswerOfTheClassUpToTheLimit) {
  Estimates estimates{1, 2};
  for (int i = 0; i < 300; ++i) estimates.saw_output(kModel, kClass, {40});
  EXPECT_NEAR(static_cast<double>(estimates.output(kModel, kClass, {}).value), 40, 1);
  EXPECT_EQ(estimates.output(kModel, kClass, Tokens{16}), Tokens{16});
  EXPECT_EQ(estimates.output(kModel, ClassIndex{0}, {}), Tokens{256}) << "other classes learn for themselves";
}

TEST(Estimates, OneAbsurdUsageDoesNotCarryThemAway) {
  Estimates estimates{1, 2};
  estimates.saw_prompt(kModel, 10, {1'000'000'000});
  estimates.saw_prompt(kModel, 0, {5});
  EXPECT_LT(estimates.prompt(kModel, 4000), Tokens{1500});
}

TEST(Spread, GrowsWithWrongPredictionsAndStaysInBounds) {
  Spread spread;
  for (int i = 0; i < 2000; ++i) saw_ttft(spread, Seconds{1}, Seconds{1});
  EXPECT_DOUBLE_EQ(spread.ttft, 0.08);
  for (int i = 0; i < 2000; ++i) saw_ttft(spread, Seconds{1}, Seconds{100});
  EXPECT_DOUBLE_EQ(spread.ttft, 0.8);
  EXPECT_DOUBLE_EQ(spread.tpot, Spread{}.tpot);
}

TEST(Spread, ConvergesToThatOfTheErrors) {
  Spread spread;
  for (int i = 0; i < 3000; ++i)
    saw_tpot(spread, Seconds{1}, Seconds{i % 2 == 0 ? std::exp(0.3) : std::exp(-0.3)});
  EXPECT_NEAR(spread.tpot, 0.3, 0.001);
}

}  // namespace
}  // namespace fareway
