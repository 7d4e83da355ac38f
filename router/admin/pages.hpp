#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "placement/scaling/advisor.hpp"
#include "router/admin/answer.hpp"
#include "router/admin/views.hpp"

namespace prometheus {
class Registry;
}

namespace fareway {

// The admin listener's pages as pure functions of copied views. `fleet` is the configuration's: names, sizes,
// limits.

/// Rows the ledger may be behind before the router stops admitting requests and says that it is not ready.
inline constexpr std::size_t kMostBacklogRows = 10'000;

/// What /readyz judges by.
struct Readiness {
  bool draining{false};
  std::size_t ledger_backlog{0};
  std::string ledger_trouble;  ///< empty while the store works
  std::optional<std::vector<std::size_t>>
      serving;  ///< replicas by model; nothing: the data loop did not answer
};

AdminAnswer health_page();
/// 200, or 503 with every reason: draining, no model has a replica in rotation, backlog too long, data loop
/// busy.
AdminAnswer readiness_page(const Readiness& readiness, const Fleet& fleet);
AdminAnswer metrics_page(const prometheus::Registry& registry);
/// What waits, by model and class.
AdminAnswer queue_page(const std::vector<QueueView>& waiting, const Fleet& fleet);
/// Which replicas to take in or let go, with the dollars and the reason.
AdminAnswer scaling_page(const std::vector<FleetAdvice>& advice, const std::vector<Usd>& misses_per_second,
                         const Fleet& fleet, TimePoint now);
/// The replicas that a drain or its end concerned, and what they still have in flight.
struct Drained {
  ReplicaIndex replica;
  bool draining{};
  std::size_t in_flight{};
};
AdminAnswer drain_page(const std::vector<Drained>& replicas, const Fleet& fleet);
AdminAnswer fleet_page(const FleetView& view, const Fleet& fleet);
/// Summaries, in the order given.
AdminAnswer decisions_page(const std::vector<DecisionRecord>& records, const Fleet& fleet);
/// One request: every attempt, every candidate, and what happened.
AdminAnswer decision_page(const DecisionRecord& record, const Fleet& fleet);
/// The same as text for people, as `fareway explain` prints it.
AdminAnswer decision_text_page(const DecisionRecord& record, const Fleet& fleet);
/// The console, with a policy that lets it run its own script and style and fetch from this listener, and no
/// more.
AdminAnswer console_page();

}  // namespace fareway
