#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "placement/decision.hpp"
#include "placement/fleet.hpp"
#include "placement/learning.hpp"
#include "pricing/meter.hpp"
#include "pricing/price_book.hpp"

namespace fareway {

/// A request that was placed on a replica, until `end`.
struct Flight {
  std::uint64_t id{};
  ReplicaIndex replica;
  Meter::Ticket ticket;
};

/// The fleet as the router sees it right now: readings, requests in flight, meters, prefix caches, what was
/// learned.
///
/// Reads no clock and does no I/O: everything comes in as an argument. One thread owns it; nothing here
/// locks.
class LiveFleet {
 public:
  LiveFleet(Fleet fleet, PriceBook prices, TimePoint now, WallTime wall_now);

  const Fleet& fleet() const { return fleet_; }
  const Meter& meter(ReplicaIndex replica) const { return meters_[replica.value]; }
  const Estimates& estimates() const { return estimates_; }

  /// Tokens that `bytes` of prompt text make for this model, by what its engines reported lately.
  Tokens estimate_prompt(ModelIndex model, std::size_t bytes) const;
  Tokens estimate_output(ModelIndex model, ClassIndex service_class, std::optional<Tokens> limit) const;

  /// Places the request on `candidate.replica`: it counts there at once, and its meter runs.
  [[nodiscard]] Flight begin(const RequestShape& shape, const Candidate& candidate, TimePoint now);
  void first_token(const Flight& flight, TimePoint now);
  void generated(const Flight& flight, Tokens more);
  /// Ends the flight and returns its charge. `usage`: what the engine reported, to learn from; nothing where
  /// it reported nothing. `completed`: the answer is whole, so its times and cached prefix may be learned.
  NanoUsd end(const Flight& flight, const RequestShape& shape, std::size_t prompt_bytes,
              const std::optional<TokenUsage>& usage, bool completed, TimePoint now);

  void apply(ReplicaIndex replica, const LoadReading& reading, TimePoint began, TimePoint now);
  /// The engine is up, but its load could not be read: the last reading ages.
  void probe_succeeded(ReplicaIndex replica, TimePoint began, TimePoint now);
  void probe_failed(ReplicaIndex replica, std::string_view reason, TimePoint now);
  void connection_failed(ReplicaIndex replica, TimePoint now);
  void answer_succeeded(ReplicaIndex replica);
  void answer_failed(ReplicaIndex replica, TimePoint now);

  /// Once a second: meters advance, prices that changed take effect, answers that are not streamed are taken
  /// to progress as predicted (else they would seem to wait for ever, and nobody's stall of them would
  /// count).
  void tick(TimePoint now, WallTime wall_now);

 private:
  InFlight* find(const Flight& flight);
  void assume_progress(TimePoint now);

  Fleet fleet_;
  PriceBook prices_;
  std::vector<Meter> meters_;
  Estimates estimates_;
  std::uint64_t next_flight_{1};
};

}  // namespace fareway
