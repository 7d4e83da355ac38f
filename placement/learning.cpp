#include "placement/learning.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {
namespace {

constexpr double kAverageWeight = 0.05;       // of one request in the averages of lengths
constexpr double kFirstTokensPerByte = 0.25;  // English text in common tokenisers: about four bytes a token
constexpr double kFewestTokensPerByte = 0.02;
constexpr double kMostTokensPerByte = 1.5;
constexpr std::size_t kLongPrompt = 1024;  // bytes; from here on the ratio outweighs the overhead
constexpr double kMostOverheadTokens = 256;
constexpr double kFirstMeanOutput = 256;

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

Estimates::Estimates(std::size_t models, std::size_t classes)
    : classes_(classes),
      tokens_per_byte_(models, kFirstTokensPerByte),
      overhead_tokens_(models, 0),
      mean_output_(models * classes, kFirstMeanOutput) {}

Tokens Estimates::prompt(ModelIndex model, std::size_t bytes) const {
  const double tokens =
      overhead_tokens_.at(model.value) + tokens_per_byte_.at(model.value) * static_cast<double>(bytes);
  return {std::max<std::int64_t>(1, std::llround(tokens))};
}

Tokens Estimates::output(ModelIndex model, ClassIndex service_class, std::optional<Tokens> limit) const {
  const double mean = mean_output_.at(model.value * classes_ + service_class.value);
  const Tokens usual{std::max<std::int64_t>(1, std::llround(mean))};
  return limit ? std::min(usual, *limit) : usual;
}

void Estimates::saw_prompt(ModelIndex model, std::size_t bytes, Tokens prompt) {
  if (bytes == 0 || prompt.value <= 0) return;
  const auto tokens = static_cast<double>(prompt.value);
  const auto size = static_cast<double>(bytes);
  double& ratio = tokens_per_byte_.at(model.value);
  double& overhead = overhead_tokens_.at(model.value);
  if (bytes >= kLongPrompt) {
    average(ratio, std::clamp((tokens - overhead) / size, kFewestTokensPerByte, kMostTokensPerByte),
            kAverageWeight);
  } else {
    average(overhead, std::clamp(tokens - ratio * size, 0.0, kMostOverheadTokens), kAverageWeight);
  }
}

void Estimates::saw_output(ModelIndex model, ClassIndex service_class, Tokens output) {
  if (output.value <= 0) return;
  average(mean_output_.at(model.value * classes_ + service_class.value), static_cast<double>(output.value),
          kAverageWeight);
}

void saw_ttft(Spread& spread, Seconds predicted, Seconds measured) {
  fold(spread.ttft, predicted, measured);
}
void saw_tpot(Spread& spread, Seconds predicted, Seconds measured) {
  fold(spread.tpot, predicted, measured);
}

}  // namespace fareway
