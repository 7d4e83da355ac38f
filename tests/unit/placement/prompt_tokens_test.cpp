#include "placement/estimates/prompt_tokens.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace fareway {
namespace {

PromptContent content(Script script, double bytes, Tokens media = {}) {
  PromptContent content{.text = {}, .media = media};
  content.text.by_script[static_cast<std::size_t>(script)] = bytes;
  return content;
}

/// An engine whose template adds 20 tokens and whose tokeniser packs scripts differently.
Tokens counted(const PromptContent& content, double noise = 1) {
  constexpr std::array kRatios{0.24, 0.18, 0.37, 0.42, 0.5};
  double tokens = 20 + static_cast<double>(content.media.value);
  for (std::size_t i = 0; i < kScripts; ++i) tokens += kRatios[i] * content.text.by_script[i] * noise;
  return {std::llround(tokens)};
}

TEST(PromptTokens, BeginWithFourBytesOfLatinATokenAndAWideSpread) {
  const PromptEstimate estimate = PromptTokens{}.estimate(content(Script::kLatin, 4000));
  EXPECT_EQ(estimate.tokens, Tokens{1000});
  EXPECT_DOUBLE_EQ(estimate.spread, 0.3);
  EXPECT_EQ(PromptTokens{}.estimate({}).tokens, Tokens{1}) << "never none";
}

TEST(PromptTokens, LearnTheRatioOfEachScriptByItself) {
  PromptTokens model;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> size(300, 40'000);
  for (int i = 0; i < 600; ++i) {
    const PromptContent prompt = content(static_cast<Script>(i % 3), size(random));
    model.learn(prompt, counted(prompt));
  }
  EXPECT_NEAR(model.tokens_per_byte(Script::kLatin), 0.24, 0.005);
  EXPECT_NEAR(model.tokens_per_byte(Script::kCyrillic), 0.18, 0.005);
  EXPECT_NEAR(model.tokens_per_byte(Script::kCjk), 0.37, 0.005);
  EXPECT_DOUBLE_EQ(model.tokens_per_byte(Script::kCode), 0.31) << "nobody sent code";
}

TEST(PromptTokens, SeparateTheTemplateFromTheText) {
  PromptTokens model;
  for (int i = 0; i < 200; ++i) {
    for (const double bytes : {40.0, 8000.0}) {
      const PromptContent prompt = content(Script::kLatin, bytes);
      model.learn(prompt, counted(prompt));
    }
  }
  EXPECT_NEAR(static_cast<double>(model.estimate(content(Script::kLatin, 40)).tokens.value), 29.6, 1.5);
  EXPECT_NEAR(static_cast<double>(model.estimate(content(Script::kLatin, 8000)).tokens.value), 1940, 20);
}

TEST(PromptTokens, StateTheErrorTheyLatelyHad) {
  PromptTokens model;
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> noise(0, 0.15);
  const PromptContent prompt = content(Script::kLatin, 10'000);
  for (int i = 0; i < 400; ++i) model.learn(prompt, counted(prompt, noise(random)));
  EXPECT_NEAR(model.estimate(prompt).spread, 0.15, 0.05);
  EXPECT_DOUBLE_EQ(model.estimate(content(Script::kCjk, 10'000)).spread, 0.3) << "unknown as before";
}

TEST(PromptTokens, FollowAChangeOfTokeniser) {
  PromptTokens model;
  const PromptContent prompt = content(Script::kLatin, 10'000);
  for (int i = 0; i < 1000; ++i) model.learn(prompt, Tokens{2500});
  for (int i = 0; i < 600; ++i) model.learn(prompt, Tokens{4000});
  EXPECT_NEAR(static_cast<double>(model.estimate(prompt).tokens.value), 4000, 100);
}

TEST(PromptTokens, CountMediaApartAndLearnNothingFromIt) {
  PromptTokens model;
  const PromptContent mostly_image = content(Script::kLatin, 400, Tokens{1500});
  EXPECT_EQ(model.estimate(mostly_image).tokens, Tokens{1600});
  const double before = model.tokens_per_byte(Script::kLatin);
  for (int i = 0; i < 100; ++i) model.learn(mostly_image, Tokens{2900});
  EXPECT_DOUBLE_EQ(model.tokens_per_byte(Script::kLatin), before);
}

TEST(PromptTokens, StayWithinBoundsWhateverIsReported) {
  PromptTokens model;
  std::mt19937_64 random(9);
  for (int i = 0; i < 5000; ++i) {
    PromptContent prompt;
    for (double& bytes : prompt.text.by_script)
      bytes = static_cast<double>(random() % 3 * (random() % 100'000));
    model.learn(prompt, Tokens{static_cast<std::int64_t>(random() % 10'000'000)});
    const PromptEstimate estimate = model.estimate(content(Script::kCode, 100'000));
    ASSERT_GE(estimate.tokens.value, 1);
    ASSERT_LE(estimate.tokens.value, 150'256);
    ASSERT_GE(estimate.spread, 0.03);
    ASSERT_LE(estimate.spread, 1.5);
  }
}

}  // namespace
}  // namespace fareway
