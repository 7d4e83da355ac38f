#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "placement/admission/admission_queue.hpp"
#include "placement/live_fleet.hpp"
#include "placement/slow_downs.hpp"
#include "router/observe/decision_log.hpp"
#include "router/observe/throughput.hpp"

namespace fareway {

/// What changes of one replica. Names and sizes do not: they come from the configuration's fleet, by index.
struct ReplicaView {
  ReplicaHealth health;
  bool draining{false};
  std::optional<LoadReading> reading;
  TimePoint read_at;
  std::size_t decoding{0};            ///< own requests past their first token
  std::size_t before_first_token{0};  ///< own requests that wait or prefill
  Spread errors;                      ///< the widest of all kinds of request
  SpeedFactor prefill;                ///< measured ÷ profile
  SpeedFactor decode;
  NanoUsdPerHour rate;
  NanoUsd charged;
  NanoUsd unsettled;
  NanoUsd idle;
  std::optional<TokensPerSecond> generating;
};

/// The fleet at one instant, copied on the data loop as fast as it goes, rendered elsewhere.
struct FleetView {
  TimePoint now;
  WallTime wall_now;
  std::vector<NanoUsdPerHour> pool_prices;  ///< per device, by pool
  std::vector<ReplicaView> replicas;
  std::vector<SlowDown> slow_downs;
};
FleetView view_of(const LiveFleet& fleet, const ThroughputWindow& throughput, TimePoint now,
                  WallTime wall_now);

/// What waits of one model and class.
struct QueueView {
  ModelIndex model;
  ClassIndex service_class;
  AdmissionQueue::Depth depth;
};
/// Those of whom some wait.
std::vector<QueueView> view_of(const AdmissionQueue& queue, const Fleet& fleet);

/// Replicas in rotation and not being drained, by model.
std::vector<std::size_t> serving_by_model(const Fleet& fleet);

/// A copy without the prompt's block keys, which no page shows and which are most of the record.
DecisionRecord view_of(const DecisionRecord& record);

}  // namespace fareway
