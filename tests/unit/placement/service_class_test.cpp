#include "placement/service_class.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace fareway {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

ServiceClass chat() {
  return {.name = "chat",
          .ttft = 1s,
          .ttft_per_prompt_token = 1ms,
          .tpot = 100ms,
          .tpot_over = {50},
          .deadline = std::nullopt,
          .miss = {0.02},
          .miss_per_second = {0.001}};
}

ServedTimes served(std::optional<Seconds> ttft, Seconds duration, std::optional<Tokens> output) {
  return {.prompt = {500}, .ttft = ttft, .duration = duration, .output = output};
}

TEST(ServiceClass, CountsTpotOfShortAnswersOverTheStatedTokens) {
  EXPECT_DOUBLE_EQ(chat().tpot_target(10)->count(), 0.5) << "100 ms x 50 / 10";
  EXPECT_DOUBLE_EQ(chat().tpot_target(50)->count(), 0.1);
  EXPECT_DOUBLE_EQ(chat().tpot_target(500)->count(), 0.1);
  // 13 tokens in 4 s are 333 ms a token, but no more than 50 tokens may take
  EXPECT_EQ(chat().lateness(served(1s, 5s, Tokens{13})), Seconds{0});
}

TEST(ServiceClass, IsAsLateAsTheTargetMissedMost) {
  EXPECT_EQ(chat().lateness(served(1.5s, 11.5s, Tokens{101})), Seconds{0}) << "met to the point";
  EXPECT_DOUBLE_EQ(chat().lateness(served(2s, 12s, Tokens{101}))->count(), 0.5) << "TTFT: 2 s of 1.5 s";
  EXPECT_DOUBLE_EQ(chat().lateness(served(2s, 15s, Tokens{101}))->count(), 3) << "TPOT: 13 s of 10 s";
}

TEST(ServiceClass, JudgesNothingByWhatNobodyMeasured) {
  EXPECT_EQ(chat().lateness(served(std::nullopt, 1s, Tokens{10})), std::nullopt);
  EXPECT_EQ(chat().lateness(served(1s, 9s, std::nullopt)), std::nullopt);
  EXPECT_EQ(chat().lateness(served(2.5s, 9s, std::nullopt)), 1s) << "one miss is enough";
  const ServiceClass batch{.name = "batch", .deadline = 300s, .miss = {0.005}};
  EXPECT_EQ(batch.lateness(served(std::nullopt, 299s, std::nullopt)), Seconds{0});
  EXPECT_EQ(batch.lateness(served(std::nullopt, 310s, std::nullopt)), 10s);
}

TEST(ServiceClass, ChargesAMissOnceAndByTheSecond) {
  EXPECT_EQ(chat().miss_dollars(Seconds{0}), Usd{0});
  EXPECT_DOUBLE_EQ(chat().miss_dollars(10s).value, 0.03);
}

TEST(ExpectedLateness, IsTheMeanOverLogNormalTimes) {
  std::mt19937_64 random(7);
  for (const double predicted : {0.5, 1.0, 1.6}) {
    std::lognormal_distribution<double> time(std::log(predicted), 0.4);
    double sum = 0;
    constexpr int kDraws = 200'000;
    for (int i = 0; i < kDraws; ++i) sum += std::max(0.0, time(random) - 1);
    EXPECT_NEAR(expected_lateness(1s, Seconds{predicted}, 0.4).count(), sum / kDraws, 0.004) << predicted;
  }
}

TEST(ExpectedLateness, IsPlainDifferenceWithoutSpread) {
  EXPECT_EQ(expected_lateness(2s, 5s, 0), 3s);
  EXPECT_EQ(expected_lateness(5s, 2s, 0), 0s);
  EXPECT_EQ(expected_lateness(0s, 2s, 0.3), 2s);
  EXPECT_EQ(expected_lateness(2s, 0s, 0.3), 0s);
}

}  // namespace
}  // namespace fareway
