#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/decision.hpp"
#include "pricing/ledger_row.hpp"

namespace fareway {

/// A decision that was taken, and what came of it. No prompt text: numbers, names and ids only.
struct DecisionRecord {
  std::string request_id;
  WallTime decided_at;
  std::string tenant;
  RequestShape shape;
  std::vector<Decision> attempts;  ///< one a placement; more than one after a failure before the first byte
  std::optional<Outcome> outcome;  ///< nothing while the request runs
  int status{0};
  std::optional<Seconds> ttft;
  std::optional<TokenUsage> usage;
  NanoUsd cost;
  std::optional<NanoUsd> price;
};

/// The last decisions, found by request id. Bounded; owned by the data loop, not thread-safe.
class DecisionLog {
 public:
  /// `capacity`: records kept, at least 1; beyond it the oldest leaves.
  explicit DecisionLog(std::size_t capacity = 4096);

  /// Records stay valid through the shared pointer even after they leave the log.
  std::shared_ptr<DecisionRecord> open(std::string request_id);
  /// Of two records with one id, the later; nullptr where none is kept.
  std::shared_ptr<const DecisionRecord> find(const std::string& request_id) const;
  /// At most `count`, newest first.
  std::vector<std::shared_ptr<const DecisionRecord>> latest(std::size_t count) const;

 private:
  std::size_t capacity_;
  std::deque<std::shared_ptr<DecisionRecord>> records_;  // oldest first
  std::unordered_map<std::string, std::shared_ptr<DecisionRecord>> by_id_;
};

}  // namespace fareway
