#pragma once

#include <string>
#include <utility>
#include <vector>

#include "placement/fleet.hpp"
#include "placement/request_shape.hpp"

namespace fareway::testing {

inline const TimePoint kNow{std::chrono::hours{100}};

/// A replica with round speeds, readable in a test's body: a step takes 10 ms whatever the batch, a prompt
/// token 1 ms.
struct ReplicaSpec {
  std::string name;
  double usd_per_hour{3.6};
  CapacityKind capacity{CapacityKind::kOnDemand};
  double step_seconds{0.010};
  double step_seconds_per_sequence{0};
  double prompt_token_seconds{0.001};
  Tokens context_limit{100'000};
  std::string region{};
};

/// One pool a replica, one model, the three classes of the tests, one tenant without rules. All in rotation.
class FleetBuilder {
 public:
  static constexpr ModelIndex kModel{0};
  static constexpr ClassIndex kInteractive{0};  // TTFT 1 s, TPOT 20 ms, a miss is worth a dollar
  static constexpr ClassIndex kBatch{1};        // deadline 1,000 s, a miss is worth a cent
  static constexpr TenantIndex kTenant{0};

  FleetBuilder() {
    fleet_.models.push_back({.name = "m", .context_limit = {1'000'000}});
    fleet_.classes.push_back(
        {.name = "interactive", .ttft = Seconds{1}, .tpot = Seconds{0.020}, .miss = {1.0}});
    fleet_.classes.push_back({.name = "batch", .deadline = Seconds{1000}, .miss = {0.01}});
    fleet_.tenants.push_back({.name = "tenant"});
  }

  ReplicaIndex add(const ReplicaSpec& spec) {
    const auto n = static_cast<std::uint32_t>(fleet_.replicas.size());
    fleet_.pools.push_back({.name = spec.name,
                            .device = "device",
                            .region = spec.region,
                            .capacity = spec.capacity,
                            .per_device_hour = {static_cast<std::int64_t>(spec.usd_per_hour * 1e9)}});
    Deployment deployment{.name = spec.name, .model = kModel};
    deployment.speed = {.step_floor = spec.step_seconds,
                        .per_sequence = spec.step_seconds_per_sequence,
                        .per_prompt_token = spec.prompt_token_seconds};
    deployment.capacity = {.kv_pool = {1'000'000}, .kv_per_token = {1}, .state_per_sequence = {}};
    deployment.context_limit = spec.context_limit;
    fleet_.deployments.push_back(deployment);
    Replica replica{.name = spec.name, .pool = {n}, .deployment = {n}};
    replica.health.probe_succeeded(kNow, kNow);
    fleet_.prefixes.add_replica(Tokens{1'000'000});
    replica.prefill_share_at = replica.read_at = kNow;
    fleet_.replicas.push_back(std::move(replica));
    return {n};
  }

  /// Requests of the interactive class that decode there at the pace of the replica's own step.
  void decoding(ReplicaIndex replica, int count, Tokens generated, double expected_output) {
    const double pace = fleet_[fleet_[replica].deployment].speed.step_floor;
    for (int i = 0; i < count; ++i) {
      const auto decoded = std::chrono::duration_cast<TimePoint::duration>(
          Seconds{pace * static_cast<double>(generated.value)});
      fleet_.replicas[replica.value].in_flight.push_back(
          {.id = next_id_++,
           .service_class = kInteractive,
           .arrived = kNow - decoded - std::chrono::milliseconds{100},
           .prompt = {100},
           .cached = {},
           .expected_output = expected_output,
           .generated = generated,
           .first_token = kNow - decoded,
           .predicted_ttft = Seconds{0.1},
           .predicted_tpot = Seconds{pace}});
    }
  }

  Fleet& fleet() { return fleet_; }

 private:
  Fleet fleet_;
  std::uint64_t next_id_{1'000'000};
};

inline RequestShape request(std::int64_t prompt, std::int64_t output,
                            ClassIndex service_class = FleetBuilder::kInteractive) {
  return {.model = FleetBuilder::kModel,
          .service_class = service_class,
          .tenant = FleetBuilder::kTenant,
          .prompt = {prompt},
          .expected_output = {output},
          .output_limit = {},
          .session = 0,
          .prefix = {},
          .tie_break = 0};
}

}  // namespace fareway::testing
