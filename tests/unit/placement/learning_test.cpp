#include "placement/learning.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace fareway {
namespace {

constexpr ModelIndex kModel{0};
constexpr ClassIndex kClass{1};

PromptContent latin(double bytes) {
  PromptContent content;
  content.text.by_script[static_cast<std::size_t>(Script::kLatin)] = bytes;
  return content;
}

double tokens_of(const Estimates& estimates, double bytes) {
  return static_cast<double>(estimates.prompt(kModel, latin(bytes)).tokens.value);
}

TEST(Estimates, StartAtFourBytesATokenAndLearnFromUsage) {
  Estimates estimates{1, 2};
  EXPECT_EQ(tokens_of(estimates, 4000), 1000);
  for (int i = 0; i < 200; ++i) estimates.saw_prompt(kModel, latin(2000), {1000});
  EXPECT_NEAR(tokens_of(estimates, 4000), 2000, 100) << "some of it may be the template's";
}

TEST(Estimates, ShortPromptsTeachTheTemplatesOverheadAndLeaveLongOnesAlone) {
  Estimates estimates{1, 2};
  for (int i = 0; i < 200; ++i)
    estimates.saw_prompt(kModel, latin(5), {20});  // "Hello", and the chat template around it
  EXPECT_NEAR(tokens_of(estimates, 5), 20, 1);
  EXPECT_NEAR(tokens_of(estimates, 800'000), 200'000, 2000);
}

TEST(Estimates, ExpectTheUsualAnswerOfTheClassUpToTheLimit) {
  Estimates estimates{1, 2};
  const AnswerKind kind{.tenant = {0}, .model = kModel, .service_class = kClass};
  for (int i = 0; i < 300; ++i) estimates.saw_answer(kind, {40});
  EXPECT_NEAR(static_cast<double>(estimates.answers().expected(kind, {}).value), 40, 3);
  EXPECT_LE(estimates.answers().expected(kind, Tokens{16}), Tokens{16});
  EXPECT_EQ(estimates.answers().expected({.tenant = {0}, .model = kModel, .service_class = {0}}, {}),
            Tokens{256})
      << "other classes learn for themselves";
}

TEST(Estimates, OneAbsurdUsageDoesNotCarryThemAway) {
  Estimates estimates{1, 2};
  estimates.saw_prompt(kModel, latin(10), {1'000'000'000});
  estimates.saw_prompt(kModel, latin(0), {5});
  EXPECT_LT(tokens_of(estimates, 4000), 1500);
}

TEST(Spread, GrowsWithWrongPredictionsAndStaysInBounds) {
  Spread spread;
  for (int i = 0; i < 2000; ++i) saw_ttft(spread, Seconds{1}, Seconds{1});
  EXPECT_DOUBLE_EQ(spread.ttft, 0.08);
  for (int i = 0; i < 2000; ++i) saw_ttft(spread, Seconds{1}, Seconds{100});
  EXPECT_DOUBLE_EQ(spread.ttft, 0.8);
  EXPECT_DOUBLE_EQ(spread.tpot, Spread{}.tpot);
}

TEST(Spread, OfTtftIsOfSecondsWhereItIsShortAndOfFactorsWhereItIsLong) {
  Spread some_tenths;
  Spread factors;
  for (int i = 0; i < 3000; ++i) {
    saw_ttft(some_tenths, Seconds{0.01}, Seconds{i % 2 == 0 ? 0.01 : 0.11});
    saw_ttft(factors, Seconds{100}, Seconds{i % 2 == 0 ? 100 * std::exp(0.3) : 100 * std::exp(-0.3)});
  }
  EXPECT_LT(some_tenths.ttft, 0.14) << "not 1.7, which eleven times as long would be";
  EXPECT_NEAR(factors.ttft, 0.3, 0.01);
}

TEST(Spread, IsKeptByClassAndLength) {
  EXPECT_NE(kind_of({0}, {100}).place, kind_of({1}, {100}).place);
  EXPECT_NE(kind_of({0}, {4095}).place, kind_of({0}, {4096}).place);
  for (std::uint32_t service_class = 0; service_class < 40; ++service_class)
    EXPECT_LT(kind_of(ClassIndex{service_class}, {1'000'000}).place, kRequestKinds);
}

TEST(Spread, ConvergesToThatOfTheErrors) {
  Spread spread;
  for (int i = 0; i < 3000; ++i)
    saw_tpot(spread, Seconds{1}, Seconds{i % 2 == 0 ? std::exp(0.3) : std::exp(-0.3)});
  EXPECT_NEAR(spread.tpot, 0.3, 0.001);
}

}  // namespace
}  // namespace fareway
