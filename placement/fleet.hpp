#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/health.hpp"
#include "placement/model/deployment.hpp"
#include "placement/prefix_index.hpp"
#include "placement/request_shape.hpp"
#include "placement/rules/rule_set.hpp"
#include "placement/service_class.hpp"
#include "placement/speed_correction.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// Reserved capacity is paid whether used or not, so it costs a decision nothing; on-demand and spot capacity
/// could be let go, so its hourly price counts.
enum class CapacityKind { kReserved, kOnDemand, kSpot };
std::string_view to_string(CapacityKind kind);

struct Pool {
  std::string name;
  std::string device;
  std::string region;  ///< empty: anywhere
  CapacityKind capacity{CapacityKind::kOnDemand};
  NanoUsdPerHour per_device_hour;  ///< the price that holds now

  bool releasable() const { return capacity != CapacityKind::kReserved; }
};

/// What an engine said of itself. Absent is not zero: what it did not say is nothing.
struct LoadReading {
  std::optional<std::int64_t> running;
  std::optional<std::int64_t> waiting;
  std::optional<double> kv_usage;  ///< 0..1
  std::optional<Tokens> kv_capacity;
  std::optional<std::uint32_t> seats;
  std::optional<std::string> version;            ///< of the engine's software
  std::optional<std::int64_t> generated_tokens;  ///< counter since the engine started
  bool asleep{false};
  bool operator==(const LoadReading&) const = default;
};

/// A request this router has on a replica.
struct InFlight {
  std::uint64_t id{};
  std::uint32_t slot{};  ///< where `LiveFleet` finds it again
  ClassIndex service_class;
  TenantIndex tenant;
  TimePoint arrived;  ///< when it was sent here
  Tokens prompt;
  Tokens cached;
  double expected_output{};
  Tokens generated;                      ///< seen so far, or assumed where the answer is not streamed
  std::optional<TimePoint> first_token;  ///< nothing while it waits or prefills
  std::optional<Tokens> output_limit;    ///< the client's own
  Tokens judged;                         ///< `generated` when `expected_output` was last worked out
  Tokens ticked;                         ///< `generated` at the last tick
  bool streamed{true};
  Seconds waited{};             ///< in the queue, before it was sent here
  Seconds predicted_prefill{};  ///< its own, part of `predicted_ttft`
  Seconds predicted_ttft{};
  Seconds predicted_tpot{};

  double context() const { return static_cast<double>(prompt.value + generated.value); }
  double remaining() const;  ///< expected tokens still to come, at least 1
};

/// Requests whose predictions err alike: those of one class, short ones and long ones apart. A class decides
/// how its requests are placed and with it how far off a prediction may be; classes beyond the fourth share
/// the places of the first ones.
struct RequestKind {
  std::uint8_t place{};
};
inline constexpr std::size_t kClassPlaces = 4;
inline constexpr std::size_t kRequestKinds = 2 * kClassPlaces;
inline constexpr Tokens kLongPrompt{4096};
constexpr RequestKind kind_of(ClassIndex service_class, Tokens prompt) {
  const std::size_t by_length = prompt < kLongPrompt ? 0 : kClassPlaces;
  return {static_cast<std::uint8_t>(by_length + service_class.value % kClassPlaces)};
}

/// Root mean square of recent errors of predictions; what the miss probability takes as spread. TPOT errs by
/// factors: errors of its logarithm. TTFT errs by some tenths of a second, whatever was predicted (somebody's
/// chunk shares the step), and by factors where it is long: errors of ln(TTFT + `kTtftOffset`), which are the
/// one below the offset and the other above.
struct Spread {
  double ttft{0.35};
  double tpot{0.35};
};
inline constexpr Seconds kTtftOffset{0.5};

/// The spreads of one replica, by kind of request.
struct PredictionErrors {
  std::array<Spread, kRequestKinds> by_kind;

  Spread& operator[](RequestKind kind) { return by_kind[kind.place]; }
  const Spread& operator[](RequestKind kind) const { return by_kind[kind.place]; }
  /// The larger of each, for people.
  Spread widest() const;
};

struct Replica {
  std::string name;
  PoolIndex pool;
  DeploymentIndex deployment;
  ReplicaHealth health;
  bool draining{false};  ///< an operator wants it empty: it takes no new request
  std::optional<LoadReading> reading;
  TimePoint read_at;
  std::int64_t foreign_running{0};  ///< in the reading, and not ours when it was taken
  std::int64_t foreign_waiting{0};
  double foreign_context{0};  ///< tokens of KV cache the foreign requests hold
  std::vector<InFlight> in_flight;
  PredictionErrors errors;
  double prefill_share{0};  ///< share of its time spent on prefills sent here, moving average over 20 s
  TimePoint prefill_share_at;
  SpeedCorrection correction;         ///< what its times say of its deployment's profile
  std::optional<SpeedProfile> speed;  ///< the profile as corrected; nothing until something was seen
  TimePoint
      prefill_ended;  ///< when it last sent a first token: whoever is next in its queue is prefilled since
};

/// The fleet as data: what a decision reads. Owned and changed by `LiveFleet` on one thread.
struct Fleet {
  std::vector<Device> devices;
  std::vector<Model> models;
  std::vector<Deployment> deployments;
  std::vector<Pool> pools;
  std::vector<Replica> replicas;
  PrefixIndex prefixes;  ///< one place a replica, in their order
  std::vector<ServiceClass> classes;
  std::vector<TenantRules> tenants;
  RuleSet rules;
  std::vector<std::uint32_t> rule_in_flight;  ///< requests that each rule's cap counts now

  const Model& operator[](ModelIndex i) const { return models[i.value]; }
  const Deployment& operator[](DeploymentIndex i) const { return deployments[i.value]; }
  const Pool& operator[](PoolIndex i) const { return pools[i.value]; }
  const Replica& operator[](ReplicaIndex i) const { return replicas[i.value]; }
  const ServiceClass& operator[](ClassIndex i) const { return classes[i.value]; }
  const TenantRules& operator[](TenantIndex i) const { return tenants[i.value]; }

  /// How fast the replica is, by its profile and by what was seen of it.
  const SpeedProfile& speed(const Replica& replica) const {
    return replica.speed ? *replica.speed : (*this)[replica.deployment].speed;
  }
  /// Devices × price: what one replica of this kind costs an hour.
  NanoUsdPerHour group_rate(const Replica& replica) const;
};

}  // namespace fareway
