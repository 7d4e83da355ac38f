#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "placement/candidate_table.hpp"
#include "placement/decision.hpp"
#include "placement/fleet.hpp"
#include "placement/learning.hpp"
#include "placement/prefill_watch.hpp"
#include "placement/suffering.hpp"
#include "pricing/meter.hpp"
#include "pricing/price_book.hpp"

namespace fareway {

/// A request that was placed on a replica, until `end`.
struct Flight {
  std::uint64_t id{};
  ReplicaIndex replica;
  std::uint32_t slot{};
  Meter::Ticket ticket;
};

/// The fleet as the router sees it right now: readings, requests in flight, meters, prefix caches, what was
/// learned.
///
/// Reads no clock and does no I/O: everything comes in as an argument. One thread owns it; nothing here
/// locks. An event about a request costs the sums over what its replica has in flight (a few nanoseconds
/// each) and one stall curve; a decision reads what is kept.
class LiveFleet {
 public:
  LiveFleet(Fleet fleet, PriceBook prices, TimePoint now, WallTime wall_now);

  const Fleet& fleet() const { return fleet_; }
  /// The fleet condensed for `choose` and `decide`, always up to date.
  const CandidateTable& table() const { return table_; }
  const PriceBook& prices() const { return prices_; }
  const Meter& meter(ReplicaIndex replica) const { return meters_[replica.value]; }
  const Estimates& estimates() const { return estimates_; }

  /// `choose` and `decide` (placement/decision.hpp) over the fleet as it is. `excluded`: replicas that
  /// already failed this request.
  Choice choose(const RequestShape& shape, std::span<const ReplicaIndex> excluded, TimePoint now);
  Decision decide(const RequestShape& shape, std::span<const ReplicaIndex> excluded, TimePoint now);

  /// Tokens that a prompt makes for this model, by what its engines reported lately.
  PromptEstimate estimate_prompt(ModelIndex model, const PromptContent& content) const;
  /// Tokens to expect of the answer, by what such requests lately got.
  Tokens estimate_output(const AnswerKind& kind, std::optional<Tokens> limit) const;

  /// Places the request on `candidate.replica`: it counts there at once, and its meter runs.
  [[nodiscard]] Flight begin(const RequestShape& shape, const Candidate& candidate, TimePoint now);
  void first_token(const Flight& flight, TimePoint now);
  void generated(const Flight& flight, Tokens more);
  /// Ends the flight and returns its charge. `usage`: what the engine reported, to learn from; nothing where
  /// it reported nothing. `completed`: the answer is whole, so its times and cached prefix may be learned.
  NanoUsd end(const Flight& flight, const RequestShape& shape, const std::optional<TokenUsage>& usage,
              bool completed, TimePoint now);

  void apply(ReplicaIndex replica, const LoadReading& reading, TimePoint began, TimePoint now);
  /// The engine is up, but its load could not be read: the last reading ages.
  void probe_succeeded(ReplicaIndex replica, TimePoint began, TimePoint now);
  void probe_failed(ReplicaIndex replica, std::string_view reason, TimePoint now);
  void connection_failed(ReplicaIndex replica, TimePoint now);
  void answer_succeeded(ReplicaIndex replica);
  void answer_failed(ReplicaIndex replica, TimePoint now);

  /// An operator's wish: no new request while it drains; those in flight go on.
  void set_draining(ReplicaIndex replica, bool draining, TimePoint now);

  /// Once a second: meters advance, prices that changed take effect, answers that are not streamed are taken
  /// to progress as predicted (else they would seem to wait for ever, and nobody's stall of them would
  /// count), and the tokens that came since are taken into account. O(replicas + requests in flight).
  void tick(TimePoint now, WallTime wall_now);

 private:
  /// Where the requests of one replica are found: `position[slot]` in `Replica::in_flight`.
  struct Slots {
    std::vector<std::uint32_t> position;
    std::vector<std::uint32_t> free;
  };

  std::optional<std::size_t> position_of(const Flight& flight) const;
  void take_out(ReplicaIndex replica, std::size_t position);
  void count_for_caps(const RequestShape& shape, PoolIndex pool, std::int32_t by);
  Seconds refresh(ReplicaIndex replica, TimePoint now);
  void renew(ReplicaIndex replica, TimePoint now);
  void assume_progress(TimePoint now);
  void learn_pace(ReplicaIndex replica, TimePoint now);
  void learn_prefill(ReplicaIndex replica, const InFlight& entry, TimePoint now);
  void expect_remaining(Replica& replica);

  Fleet fleet_;
  PriceBook prices_;
  std::vector<Meter> meters_;
  Estimates estimates_;
  CandidateTable table_;
  std::vector<Suffering> suffering_;
  std::vector<PrefillWatch> prefills_;
  std::vector<Slots> slots_;
  DecisionScratch scratch_;
  std::uint64_t next_flight_{1};
  TimePoint ticked_at_;
};

}  // namespace fareway
