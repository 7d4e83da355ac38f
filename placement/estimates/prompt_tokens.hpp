#pragma once

#include <array>
#include <cstddef>

#include "placement/estimates/least_squares.hpp"
#include "placement/estimates/prompt_content.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

struct PromptEstimate {
  Tokens tokens;
  double spread{};  ///< of ln(real / estimated), root mean square
};

/// How many tokens a byte of text makes, for one model, by script; learned from the usage that engines
/// report.
///
/// Recursive least squares with forgetting on tokens/bytes = Σ ratio(script)·share(script) + overhead/bytes,
/// so that every request weighs the same, however long. About the last 200 requests count; the gain is
/// bounded, ratios stay within 0.02 to 1.5 tokens a byte and the template's overhead within 256 tokens.
/// Constant memory; not thread-safe.
class PromptTokens {
 public:
  PromptTokens();

  PromptEstimate estimate(const PromptContent& content) const;
  /// `tokens`: what the engine counted. Prompts that are mostly media teach nothing about text.
  void learn(const PromptContent& content, Tokens tokens);

  double tokens_per_byte(Script script) const { return fit_.weights()[static_cast<std::size_t>(script)]; }

 private:
  static constexpr std::size_t kFeatures = kScripts + 1;
  using Fit = LeastSquares<kFeatures>;
  static Fit::Options options();
  static Fit::Vector features(const TextBytes& text);

  Fit fit_;  // tokens a byte by script, then the overhead in units of 64 tokens
  std::array<double, kScripts> squared_error_;  // of logs, by the script most of the prompt is in
};

}  // namespace fareway
