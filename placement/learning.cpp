#include "placement/learning.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {
namespace {

constexpr double kErrorWeight = 0.01;
constexpr double kNarrowestSpread = 0.08;
constexpr double kWidestSpread = 0.8;

void average(double& mean, double value, double weight) {
  mean += weight * (value - mean);
}

void fold(double& spread, Seconds predicted, Seconds measured) {
  if (predicted.count() <= 0 || measured.count() <= 0) return;
  const double error = std::log(measured / predicted);
  double squared = spread * spread;
  average(squared, error * error, kErrorWeight);
  spread = std::clamp(std::sqrt(squared), kNarrowestSpread, kWidestSpread);
}

}  // namespace

Estimates::Estimates(std::size_t models, std::size_t classes) : prompts_(models), answers_(models, classes) {}

PromptEstimate Estimates::prompt(ModelIndex model, const PromptContent& content) const {
  return prompts_.at(model.value).estimate(content);
}

void Estimates::saw_prompt(ModelIndex model, const PromptContent& content, Tokens prompt) {
  prompts_.at(model.value).learn(content, prompt);
}

void saw_ttft(Spread& spread, Seconds predicted, Seconds measured) {
  if (predicted.count() <= 0) return;
  fold(spread.ttft, predicted + kTtftOffset, measured + kTtftOffset);
}
void saw_tpot(Spread& spread, Seconds predicted, Seconds measured) {
  fold(spread.tpot, predicted, measured);
}

}  // namespace fareway
