#include "placement/estimates/prompt_tokens.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {
namespace {

/// Where learning starts. Latin: about four bytes a token, the rule of thumb of tokeniser vendors. The others
/// follow from characters of two or three bytes and of shorter tokens; all are corrected within a few dozen
/// requests. Last: no overhead.
constexpr std::array<double, kScripts + 1> kFirst{0.25, 0.22, 0.28, 0.31, 0.33, 0};
constexpr double kFewestPerByte = 0.02;
constexpr double kMostPerByte = 1.5;
constexpr double kOverheadUnit = 64;  // tokens; keeps the features of like size
constexpr double kMostOverhead = 256 / kOverheadUnit;

// Squares of what is believed beforehand (ratios to 0.08, the overhead to 64 tokens) over that of one
// request's tokens a byte (0.05).
constexpr double kRatioVariance = 2.5;
constexpr double kOverheadVariance = 400;
constexpr double kFirstSpread = 0.3;
constexpr double kNarrowestSpread = 0.03;
constexpr double kSpreadWeight = 0.05;
constexpr double kWorstLogError = 1.5;  // one broken report must not carry anything away

}  // namespace

PromptTokens::Fit::Options PromptTokens::options() {
  Fit::Options options;
  options.own_variance.fill(kRatioVariance);
  options.own_variance[kScripts] = kOverheadVariance;
  options.least.fill(kFewestPerByte);
  options.most.fill(kMostPerByte);
  options.least[kScripts] = 0;
  options.most[kScripts] = kMostOverhead;
  return options;
}

PromptTokens::PromptTokens() : fit_(kFirst, options()) {
  squared_error_.fill(kFirstSpread * kFirstSpread);
}

PromptTokens::Fit::Vector PromptTokens::features(const TextBytes& text) {
  Fit::Vector features{};
  const double bytes = std::max(1.0, text.total());
  for (std::size_t i = 0; i < kScripts; ++i) features[i] = text.by_script[i] / bytes;
  features[kScripts] = kOverheadUnit / bytes;
  return features;
}

PromptEstimate PromptTokens::estimate(const PromptContent& content) const {
  double tokens = fit_.weights()[kScripts] * kOverheadUnit + static_cast<double>(content.media.value);
  for (std::size_t i = 0; i < kScripts; ++i) tokens += fit_.weights()[i] * content.text.by_script[i];
  const double squared = squared_error_[static_cast<std::size_t>(content.text.most())];
  return {.tokens = {std::max<std::int64_t>(1, std::llround(tokens))}, .spread = std::sqrt(squared)};
}

void PromptTokens::learn(const PromptContent& content, Tokens tokens) {
  const double bytes = content.text.total();
  const auto text_tokens = static_cast<double>((tokens - content.media).value);
  if (bytes < 1 || text_tokens <= 0 || text_tokens < static_cast<double>(content.media.value)) return;

  const auto estimated = static_cast<double>(estimate(content).tokens.value);
  const double error =
      std::clamp(std::log(static_cast<double>(tokens.value) / estimated), -kWorstLogError, kWorstLogError);
  double& squared = squared_error_[static_cast<std::size_t>(content.text.most())];
  squared =
      std::max(kNarrowestSpread * kNarrowestSpread, squared + kSpreadWeight * (error * error - squared));

  const double believed = estimated * std::exp(error) - static_cast<double>(content.media.value);
  fit_.learn(features(content.text), std::max(0.0, believed) / bytes);
}

}  // namespace fareway
