#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "placement/admission/admission_queue.hpp"
#include "placement/live_fleet.hpp"
#include "placement/scaling/advisor.hpp"
#include "pricing/ledger_row.hpp"

namespace prometheus {
class Registry;
}

namespace fareway {

class LearningMetrics;
struct DecisionRecord;

/// Everything Prometheus sees of the router; docs/metrics.md names it all. Verbs in, names and labels inside;
/// labels come from the configuration's own small sets (model, pool, class, replica, outcome), never from a
/// request. Series are found once, here; an update is an array access. Any thread may call, but
/// `fleet_changed` only one at a time.
///
/// Dollars are doubles here, good for graphs; the ledger is what is exact.
class Metrics {
 public:
  /// `registry` outlives this; `fleet` gives the names and is not kept.
  Metrics(prometheus::Registry& registry, const Fleet& fleet);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// A request was admitted: a replica was chosen for it. `request_ended` follows.
  void request_started();
  /// One finished request: counts, latency, tokens, dollars. `pool`: of the last attempt, nothing where none
  /// was made.
  void request_ended(const LedgerRow& row, ModelIndex model, ClassIndex service_class,
                     std::optional<PoolIndex> pool);
  /// The same request once its record is complete: how its predictions turned out.
  void decision_turned_out(const DecisionRecord& record, const Fleet& fleet);
  /// Refused before a replica was chosen: "unauthorized", "bad_request", "too_large", "no_replica", ...
  /// (literals)
  void request_refused(std::string_view reason_literal);
  /// A request has waited: how long, and how that ended: "placed", "client_closed", "shutting_down" or a
  /// reason of `TurnedAway` (literals).
  void waited(ClassIndex service_class, Seconds time, std::string_view how_literal);
  void queue_depth(ModelIndex model, ClassIndex service_class, const AdmissionQueue::Depth& depth);
  /// Another attempt on another replica, after "unreachable", "refused" or "broke_off" (literals).
  void retried(std::string_view reason_literal);
  void client_connections(std::size_t open);
  void tls_handshake_failed();
  void decision_took(Seconds time);
  /// About once a second. Gauges of pools and replicas: price, load, KV use, health, in flight, idle and
  /// charged dollars, ledger backlog.
  void fleet_changed(const LiveFleet& fleet);
  /// About once a second, after `ScalingAdvisor::review`.
  void scaling_advised(const ScalingAdvisor& scaling, const Fleet& fleet);
  void ledger_backlog(std::size_t rows);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
  std::unique_ptr<LearningMetrics> learning_;
};

}  // namespace fareway
