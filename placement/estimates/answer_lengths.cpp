#include "placement/estimates/answer_lengths.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {

AnswerLengths::AnswerLengths(std::size_t models, std::size_t classes, std::size_t most_sketches)
    : classes_(classes),
      most_(std::max<std::size_t>(1, most_sketches)),
      by_model_and_class_(models * classes) {}

std::uint64_t AnswerLengths::key_of(const AnswerKind& kind) {
  // Models and classes are entries of one file of at most 200,000 values.
  constexpr unsigned kTenantBits = 28;
  constexpr unsigned kModelBits = 18;
  return (std::uint64_t{kind.service_class.value} << (kTenantBits + kModelBits)) |
         (std::uint64_t{kind.model.value} << kTenantBits) | kind.tenant.value;
}

const LengthSketch& AnswerLengths::shared(const AnswerKind& kind) const {
  return by_model_and_class_.at(kind.model.value * classes_ + kind.service_class.value);
}

const LengthSketch* AnswerLengths::own(const AnswerKind& kind) const {
  const auto found = by_kind_.find(key_of(kind));
  return found == by_kind_.end() ? nullptr : &found->second->second;
}

LengthPrior AnswerLengths::prior(const AnswerKind& kind) const {
  return {.mean = std::max(1.0, shared(kind).mean(LengthPrior{}))};
}

Tokens AnswerLengths::expected(const AnswerKind& kind, std::optional<Tokens> limit) const {
  const LengthSketch* sketch = own(kind);
  const double mean =
      sketch == nullptr ? shared(kind).mean(LengthPrior{}, limit) : sketch->mean(prior(kind), limit);
  return {std::max<std::int64_t>(1, std::llround(mean))};
}

double AnswerLengths::remaining(const AnswerKind& kind, double seen, std::optional<Tokens> limit) const {
  const LengthSketch* sketch = own(kind);
  const double rest =
      sketch == nullptr ? shared(kind).remaining(seen, LengthPrior{}) : sketch->remaining(seen, prior(kind));
  return limit ? std::clamp(static_cast<double>(limit->value) - seen, 1.0, rest) : rest;
}

void AnswerLengths::learn(const AnswerKind& kind, Tokens length) {
  if (length.value <= 0) return;
  by_model_and_class_.at(kind.model.value * classes_ + kind.service_class.value).add(length);
  const std::uint64_t key = key_of(kind);
  if (const auto found = by_kind_.find(key); found != by_kind_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
  } else {
    if (recent_.size() == most_) {
      by_kind_.erase(recent_.back().first);
      recent_.pop_back();
    }
    recent_.emplace_front(key, LengthSketch{});
    by_kind_.emplace(key, recent_.begin());
  }
  recent_.front().second.add(length);
}

}  // namespace fareway
