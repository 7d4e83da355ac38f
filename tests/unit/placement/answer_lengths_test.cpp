#include "placement/estimates/answer_lengths.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace fareway {
namespace {

constexpr AnswerKind kChat{.tenant = {0}, .model = {0}, .service_class = {0}};
constexpr AnswerKind kOtherTenant{.tenant = {1}, .model = {0}, .service_class = {0}};
constexpr LengthPrior kNoBelief{.mean = 256, .answers = 0};

TEST(LengthSketch, GivesQuantilesWithinFivePercent) {
  LengthSketch sketch;
  for (int round = 0; round < 3; ++round)
    for (int length = 1; length <= 1000; ++length) sketch.add({(length * 7919) % 1000 + 1});
  for (const double q : {0.1, 0.5, 0.9, 0.99}) EXPECT_NEAR(sketch.quantile(q) / (1000 * q), 1, 0.08) << q;
}

TEST(LengthSketch, ForgetsOldAnswers) {
  LengthSketch sketch;
  for (int i = 0; i < 5000; ++i) sketch.add({100});
  EXPECT_NEAR(sketch.answers(), 500, 1) << "1 / (1 - 0.998)";
  for (int i = 0; i < 2000; ++i) sketch.add({4000});
  EXPECT_NEAR(sketch.quantile(0.5) / 4000, 1, 0.05);
  EXPECT_NEAR(sketch.mean(kNoBelief) / 4000, 1, 0.07);
}

TEST(LengthSketch, CountsLimitsIntoTheMean) {
  LengthSketch sketch;
  for (int i = 0; i < 100; ++i) sketch.add({i % 2 == 0 ? 100 : 10'000});
  EXPECT_NEAR(sketch.mean(kNoBelief, Tokens{200}) / 150, 1, 0.05) << "half of them end by themselves";
  EXPECT_NEAR(LengthSketch{}.mean({.mean = 256, .answers = 8}, Tokens{16}), 256 * (1 - std::exp(-0.0625)),
              1e-9);
}

TEST(LengthSketch, IsMemorylessBeforeTheFirstAnswer) {
  for (const double seen : {0.0, 100.0, 100'000.0})
    EXPECT_NEAR(LengthSketch{}.remaining(seen, {.mean = 300, .answers = 8}), 300, 1e-6) << seen;
}

TEST(LengthSketch, ExpectsMoreOfTheLongerWhereTailsAreLong) {
  // Half of the answers have 50 tokens, half 5,000: after 60 the end is far.
  LengthSketch sketch;
  for (int i = 0; i < 400; ++i) sketch.add({i % 2 == 0 ? 50 : 5000});
  EXPECT_NEAR(sketch.remaining(0, kNoBelief) / 2525, 1, 0.05);
  EXPECT_NEAR(sketch.remaining(1000, kNoBelief) / 4000, 1, 0.08);
}

TEST(LengthSketch, AgreesWithAnExponentialsResidualLife) {
  LengthSketch sketch;
  std::mt19937_64 random(4);
  std::exponential_distribution<double> length(1.0 / 400);
  for (int i = 0; i < 5000; ++i) sketch.add({1 + std::llround(length(random))});
  for (const double seen : {0.0, 200.0, 400.0})
    EXPECT_NEAR(sketch.remaining(seen, {.mean = 400, .answers = 8}), 400, 70) << seen;
}

TEST(LengthSketch, StatesItsSpread) {
  LengthSketch sketch;
  EXPECT_NEAR(sketch.log_spread(), 1.28, 0.01);
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> length(6, 0.5);
  for (int i = 0; i < 3000; ++i) sketch.add({std::llround(length(random))});
  EXPECT_NEAR(sketch.log_spread(), 0.5, 0.06);
}

TEST(AnswerLengths, TakeANewTenantToBeLikeTheOthers) {
  AnswerLengths lengths(1, 1);
  EXPECT_EQ(lengths.expected(kChat, {}), Tokens{256});
  for (int i = 0; i < 500; ++i) lengths.learn(kChat, {1000});
  EXPECT_NEAR(static_cast<double>(lengths.expected(kOtherTenant, {}).value), 1000, 80);
  for (int i = 0; i < 500; ++i) lengths.learn(kOtherTenant, {50});
  EXPECT_NEAR(static_cast<double>(lengths.expected(kOtherTenant, {}).value), 50, 20);
  EXPECT_NEAR(static_cast<double>(lengths.expected(kChat, {}).value), 1000, 80) << "untouched by the other";
}

TEST(AnswerLengths, ExpectWhatIsUsedAndNotWhatIsAllowed) {
  AnswerLengths lengths(1, 1);
  for (int i = 0; i < 500; ++i) lengths.learn(kChat, {300});
  EXPECT_NEAR(static_cast<double>(lengths.expected(kChat, Tokens{100'000}).value), 300, 20);
  EXPECT_LE(lengths.expected(kChat, Tokens{20}), Tokens{20});
  EXPECT_EQ(lengths.remaining(kChat, 99'999, Tokens{100'000}), 1);
  EXPECT_EQ(lengths.remaining(kChat, 200'000, Tokens{100'000}), 1) << "past its limit";
}

TEST(AnswerLengths, KeepABoundedNumberOfTenants) {
  AnswerLengths lengths(1, 1, 3);
  for (std::uint32_t tenant = 0; tenant < 10; ++tenant)
    lengths.learn({.tenant = {tenant}, .model = {0}, .service_class = {0}},
                  {static_cast<std::int64_t>(tenant)});
  EXPECT_EQ(lengths.sketches(), 3u);
}

}  // namespace
}  // namespace fareway
