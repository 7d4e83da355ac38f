#pragma once

#include <memory>
#include <optional>

#include "placement/decision.hpp"
#include "router/gateway/answer_facts.hpp"
#include "router/gateway/gateway.hpp"
#include "router/gateway/job.hpp"

namespace fareway {

/// The money side of one request: its decisions, its flights on replicas, and in the end exactly one ledger
/// row.
///
/// `begin` and `admit` admit the request; from then on a row is owed. `close` makes it; whoever forgets is
/// covered by the destructor, which appends a row for an answer that broke off. Reads no socket; one thread.
class Settlement {
 public:
  /// Everything passed in outlives the settlement. `job` is read until `close`.
  Settlement(GatewayParts parts, const Job& job);
  ~Settlement();
  Settlement(const Settlement&) = delete;
  Settlement& operator=(const Settlement&) = delete;

  /// Decides and records the decision; one that nothing came of is forgotten.
  const Decision& weigh(TimePoint now);
  /// The last one; after `weigh`.
  const Decision& decision() const { return record_->attempts.back(); }
  /// The request counts on the replica that was chosen last from now on.
  void begin(TimePoint now);
  /// Both, where a replica can be chosen.
  const Decision& place(TimePoint now);
  /// It waits: from now on a row is owed, though no replica is chosen yet.
  void admit();
  /// What is said of its waiting in the decision's record.
  void waited(const QueueRecord& queue);
  ReplicaIndex replica() const { return *replica_; }
  bool admitted() const { return admitted_; }
  std::size_t attempts() const { return failed_.size(); }

  /// The current attempt came to nothing: its charge stays in the row and its replica is not tried again.
  void attempt_failed(TimePoint now);

  void first_token(TimePoint now);
  void generated(std::int64_t tokens);

  /// Ends the current flight, if there is one, and makes the row. To be called once; the row is the caller's
  /// to append.
  LedgerRow close(Outcome outcome, int status, const AnswerFacts& facts, TimePoint now);
  bool closed() const { return closed_; }
  /// Nobody could take it and it was never admitted; only the decision's record learns of it.
  void refused(int status);

 private:
  void end_flight(const std::optional<TokenUsage>& usage, bool completed, TimePoint now);
  void add_usage(LedgerRow& row, const AnswerFacts& facts) const;
  void record(const LedgerRow& row);
  void tell_missed();

  GatewayParts parts_;
  const Job& job_;
  std::shared_ptr<DecisionRecord> record_;
  std::optional<Flight> flight_;
  std::optional<ReplicaIndex> replica_;  // of the last attempt
  std::vector<ReplicaIndex> failed_;
  std::vector<Charge> charges_;
  std::optional<Seconds> ttft_;
  bool admitted_{false};
  bool begun_{true};  // the decision recorded last; true where there is none
  bool closed_{false};
};

}  // namespace fareway
