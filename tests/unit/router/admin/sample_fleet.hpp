#pragma once

#include <string>
#include <utility>
#include <vector>

#include "placement/decision.hpp"
#include "placement/fleet.hpp"
#include "placement/live_fleet.hpp"
#include "router/observe/decision_log.hpp"

namespace fareway::testing {

inline constexpr TimePoint kNow{std::chrono::hours{100}};
/// 2026-11-30T20:18:00.123Z
inline constexpr WallTime kWallNow{std::chrono::milliseconds{1'796'069'880'123}};

inline constexpr ReplicaIndex kMi355xGlm{0};
inline constexpr ReplicaIndex kB300Glm{1};
inline constexpr ReplicaIndex kMi300xGlm{2};
inline constexpr ReplicaIndex kMi300xQwen{3};

inline Device device(std::string name, std::int64_t hbm_gib) {
  Device device;
  device.name = std::move(name);
  device.hbm = {hbm_gib * kGibibyte};
  return device;
}

inline Deployment deployment(std::string name, ModelIndex model, std::uint32_t tp, std::int64_t kv_pool_gib) {
  Deployment deployment;
  deployment.name = std::move(name);
  deployment.model = model;
  deployment.parallelism.tp = tp;
  deployment.capacity = {{kv_pool_gib * kGibibyte}, {65'536}, {}};
  deployment.context_limit = {131'072};
  return deployment;
}

/// Three pools, two models: "glm" on eight devices of each kind, "qwen" on one MI300X.
inline Fleet sample_fleet() {
  Fleet fleet;
  fleet.devices = {device("mi355x", 288), device("b300", 268), device("mi300x", 192)};
  fleet.models.resize(2);
  fleet.models[0].name = "glm";
  fleet.models[1].name = "qwen";
  fleet.classes.resize(2);
  fleet.classes[0].name = "interactive";
  fleet.classes[1].name = "batch";
  fleet.tenants.resize(1);
  fleet.tenants[0].name = "research";
  fleet.deployments = {deployment("glm-mi355x-tp8", {0}, 8, 1'400), deployment("glm-b300-tp8", {0}, 8, 1'250),
                       deployment("glm-mi300x-tp8", {0}, 8, 620), deployment("qwen-mi300x", {1}, 1, 128)};
  fleet.pools = {{"mi355x", "mi355x", "eu-west", CapacityKind::kReserved, {2'500'000'000}},
                 {"b300", "b300", "us-east", CapacityKind::kOnDemand, {6'000'000'000}},
                 {"mi300x", "mi300x", "", CapacityKind::kSpot, {1'990'000'000}}};
  const auto add = [&fleet](std::string name, PoolIndex pool, DeploymentIndex runs) {
    Replica replica;
    replica.name = std::move(name);
    replica.pool = pool;
    replica.deployment = runs;
    replica.health.probe_succeeded(kNow, kNow);
    fleet.replicas.push_back(std::move(replica));
  };
  add("mi355x-glm", {0}, {0});
  add("b300-glm", {1}, {1});
  add("mi300x-glm", {2}, {2});
  add("mi300x-qwen", {2}, {3});
  return fleet;
}

inline LiveFleet live(Fleet fleet) {
  std::vector<std::vector<PriceStep>> schedules;
  for (const Pool& pool : fleet.pools) schedules.push_back({{WallTime{}, pool.per_device_hour}});
  return {std::move(fleet), PriceBook(std::move(schedules)), kNow, kWallNow};
}

inline Candidate feasible(ReplicaIndex replica, Score score) {
  Candidate candidate{};
  candidate.replica = replica;
  candidate.added_work = Seconds{1};
  candidate.prediction = {Seconds{0.4}, Seconds{0.02}, 0.03};
  candidate.score = score;
  return candidate;
}

inline Candidate excluded(ReplicaIndex replica, std::string_view constraint) {
  Candidate candidate{};
  candidate.replica = replica;
  candidate.excluded_by = constraint;
  return candidate;
}

inline RequestShape shape(std::int64_t prompt, std::int64_t output) {
  RequestShape shape;
  shape.prompt = {prompt};
  shape.expected_output = {output};
  return shape;
}

/// 200,000 tokens of prompt: mi355x-glm wins over b300-glm, mi300x-glm is too small.
inline Decision sample_decision() {
  return {kMi355xGlm,
          {feasible(kMi355xGlm, {{0.0010}, {0.00018}, {0.00005}}),
           feasible(kB300Glm, {{0.0014}, {0.00019}, {0.00009}}), excluded(kMi300xGlm, "context")}};
}

inline void fill_sample(DecisionRecord& record) {
  record.decided_at = kWallNow;
  record.tenant = "research";
  record.shape = shape(200'000, 350);
  record.shape.output_limit = Tokens{400};
  record.attempts = {sample_decision()};
}

/// What ends the sample: a whole answer.
inline void finish_sample(DecisionRecord& record) {
  record.outcome = Outcome::kComplete;
  record.status = 200;
  record.ttft = Seconds{0.5};
  record.usage = TokenUsage{{199'000}, {4'096}, {321}};
  record.cost = NanoUsd{1'310'000};
  record.price = NanoUsd{2'000'000};
}

}  // namespace fareway::testing
