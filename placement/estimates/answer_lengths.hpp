#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/estimates/length_sketch.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// Whose answers are alike in length.
struct AnswerKind {
  TenantIndex tenant;
  ModelIndex model;
  ClassIndex service_class;
};

/// How long answers are, by tenant, model and class: clients set `max_tokens` to 100,000 and use 300. A
/// tenant that was not seen is taken to be like the others of its model and class. Memory is bounded: of the
/// tenants' sketches the least recently used goes first. Not thread-safe.
class AnswerLengths {
 public:
  static constexpr std::size_t kMostSketches = 4096;  // 2.6 MB

  AnswerLengths(std::size_t models, std::size_t classes, std::size_t most_sketches = kMostSketches);

  /// Tokens to expect of an answer: the mean of min(length, limit).
  Tokens expected(const AnswerKind& kind, std::optional<Tokens> limit) const;
  /// Tokens still to come after `seen`, at least 1, at most what the limit leaves.
  double remaining(const AnswerKind& kind, double seen, std::optional<Tokens> limit) const;

  void learn(const AnswerKind& kind, Tokens length);
  std::size_t sketches() const { return recent_.size(); }

 private:
  using Entry = std::pair<std::uint64_t, LengthSketch>;
  static std::uint64_t key_of(const AnswerKind& kind);
  const LengthSketch& shared(const AnswerKind& kind) const;
  const LengthSketch* own(const AnswerKind& kind) const;
  LengthPrior prior(const AnswerKind& kind) const;

  std::size_t classes_;
  std::size_t most_;
  std::vector<LengthSketch> by_model_and_class_;
  std::list<Entry> recent_;  // most recently learned first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_kind_;
};

}  // namespace fareway
