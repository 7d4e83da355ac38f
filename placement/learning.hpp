#pragma once

#include <cstddef>
#include <vector>

#include "placement/estimates/answer_lengths.hpp"
#include "placement/estimates/prompt_tokens.hpp"
#include "placement/fleet.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What finished requests teach about the next ones: how many tokens a prompt makes, how long answers are.
/// Not thread-safe.
class Estimates {
 public:
  Estimates(std::size_t models, std::size_t classes);

  PromptEstimate prompt(ModelIndex model, const PromptContent& content) const;
  const AnswerLengths& answers() const { return answers_; }

  void saw_prompt(ModelIndex model, const PromptContent& content, Tokens prompt);
  void saw_answer(const AnswerKind& kind, Tokens length) { answers_.learn(kind, length); }

 private:
  std::vector<PromptTokens> prompts_;  // by model
  AnswerLengths answers_;
};

/// Folds one outcome into the spread of a replica's predictions: a 1 % moving average of squared log errors,
/// its root kept in [0.08, 0.8]. A spread below the truth sells misses, so it starts wide.
void saw_ttft(Spread& spread, Seconds predicted, Seconds measured);
void saw_tpot(Spread& spread, Seconds predicted, Seconds measured);

}  // namespace fareway
