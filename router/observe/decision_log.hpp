#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/admission/turned_away.hpp"
#include "placement/decision.hpp"
#include "pricing/ledger_row.hpp"

namespace fareway {

/// What there is to say of a request that did not go to a replica at once.
struct QueueRecord {
  Usd misses_at_first;                      ///< own and others', had it been placed when it came
  bool for_cheaper_hour{false};             ///< it was held for one
  Seconds waited{};                         ///< 0 where it was turned away at once
  std::optional<TurnedAway> turned_away{};  ///< nothing: it was placed, or its client left
};

/// A decision that was taken, and what came of it. No prompt text: numbers, names and ids only.
struct DecisionRecord {
  std::string request_id;
  WallTime decided_at;
  std::string tenant;
  RequestShape shape;
  std::optional<QueueRecord> queue{};
  std::vector<Decision> attempts;  ///< one a placement; more than one after a failure before the first byte
  std::optional<Outcome> outcome;  ///< nothing while the request runs
  int status{0};
  std::optional<Seconds> ttft;
  std::optional<Seconds> duration;  ///< arrival to the last byte; nothing before it
  std::optional<TokenUsage> usage;
  NanoUsd cost;
  std::optional<NanoUsd> price;
};

/// Seconds past the target missed most; 0 where all were met; nothing where that is not known, or the answer
/// is not whole.
std::optional<Seconds> lateness_of(const DecisionRecord& record, const Fleet& fleet);

/// The last decisions, found by request id. Bounded; owned by the data loop, not thread-safe.
class DecisionLog {
 public:
  /// `capacity`: records kept, at least 1; beyond it the oldest leaves. `sample`: share of requests kept,
  /// chosen by their id, so that every router that sees a request chooses alike.
  explicit DecisionLog(std::size_t capacity = 4096, double sample = 1);

  /// A record to fill in. It stays valid through the shared pointer after it has left the log, or where it
  /// never was in it because of sampling.
  std::shared_ptr<DecisionRecord> open(std::string request_id);
  /// Of two records with one id, the later; nullptr where none is kept.
  std::shared_ptr<const DecisionRecord> find(const std::string& request_id) const;
  /// At most `count`, newest first.
  std::vector<std::shared_ptr<const DecisionRecord>> latest(std::size_t count) const;

 private:
  bool sampled(const std::string& request_id) const;

  std::size_t capacity_;
  double sample_;
  std::deque<std::shared_ptr<DecisionRecord>> records_;  // oldest first
  std::unordered_map<std::string, std::shared_ptr<DecisionRecord>> by_id_;
};

}  // namespace fareway
