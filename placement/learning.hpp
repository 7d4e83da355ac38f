#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "placement/fleet.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What finished requests teach about the next ones: how many tokens a byte of prompt makes, how long answers
/// are, how wrong predictions are. Moving averages; not thread-safe.
class Estimates {
 public:
  Estimates(std::size_t models, std::size_t classes);

  /// How far below the estimate a prompt may lie, relative: code and CJK differ from prose by about that.
  static constexpr double kPromptError = 0.3;

  Tokens prompt(ModelIndex model, std::size_t bytes) const;
  Tokens output(ModelIndex model, ClassIndex service_class, std::optional<Tokens> limit) const;

  void saw_prompt(ModelIndex model, std::size_t bytes, Tokens prompt);
  void saw_output(ModelIndex model, ClassIndex service_class, Tokens output);

 private:
  std::size_t classes_;
  std::vector<double> tokens_per_byte_;
  std::vector<double> overhead_tokens_;
  std::vector<double> mean_output_;
};

/// Folds one outcome into the spread of a replica's predictions: a 1 % moving average of squared log errors,
/// its root kept in [0.08, 0.8]. A spread below the truth sells misses, so it starts wide.
void saw_ttft(Spread& spread, Seconds predicted, Seconds measured);
void saw_tpot(Spread& spread, Seconds predicted, Seconds measured);

}  // namespace fareway
