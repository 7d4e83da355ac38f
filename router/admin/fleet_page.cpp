#include <algorithm>
#include <string_view>

#include "router/admin/figures.hpp"
#include "router/admin/json.hpp"
#include "router/admin/pages.hpp"

namespace fareway {

namespace {

/// Sums over the replicas of one pool. Throughput and its rate cover the replicas whose throughput is known,
/// so that one dead replica does not hide what the others do; `measured` says how many those are.
struct PoolTotals {
  std::uint32_t devices{0};
  NanoUsdPerHour rate;
  NanoUsd charged;
  NanoUsd unsettled;
  NanoUsd idle;
  std::size_t measured{0};
  NanoUsdPerHour measured_rate;
  std::optional<TokensPerSecond> generating;

  void add(const ReplicaView& view, std::uint32_t replica_devices) {
    devices += replica_devices;
    rate += view.rate;
    charged += view.charged;
    unsettled += view.unsettled;
    idle += view.idle;
    if (!view.generating) return;
    ++measured;
    measured_rate += view.rate;
    generating = generating.value_or(TokensPerSecond{0}) + *view.generating;
  }
};

/// What a million generated tokens cost right now; null where that is not known or nothing is generated.
Json usd_per_million_tokens(NanoUsdPerHour rate, std::optional<TokensPerSecond> generating) {
  if (!generating || generating->value <= 0) return nullptr;
  return (to_usd_per_hour(rate) / *generating).value;
}

Json per_second(std::optional<TokensPerSecond> generating) {
  return generating ? Json(generating->value) : Json(nullptr);
}

std::string_view to_string(ReplicaHealth::State state) {
  switch (state) {
    case ReplicaHealth::State::kUnknown:
      return "unknown";
    case ReplicaHealth::State::kServing:
      return "serving";
    case ReplicaHealth::State::kOut:
      return "out";
  }
  return "unknown";
}

Json health_json(const ReplicaHealth& health, TimePoint now) {
  const bool dated = health.since() != TimePoint{};
  return {{"state", to_string(health.state())},
          {"reason", health.reason().empty() ? Json(nullptr) : Json(health.reason())},
          {"seconds", dated ? Json(Seconds(now - health.since()).count()) : Json(nullptr)}};
}

/// What the engine said, as it said it; null for what it did not say.
Json reported_json(const ReplicaView& view, TimePoint now) {
  if (!view.reading) return nullptr;
  const LoadReading& reading = *view.reading;
  return {{"age_seconds", Seconds(now - view.read_at).count()},
          {"running", or_null(reading.running)},
          {"waiting", or_null(reading.waiting)},
          {"kv_usage", or_null(reading.kv_usage)},
          {"kv_capacity_tokens", reading.kv_capacity ? Json(reading.kv_capacity->value) : Json(nullptr)},
          {"seats", or_null(reading.seats)},
          {"asleep", reading.asleep}};
}

Json hbm_bytes(const Fleet& fleet, const Pool& pool, std::uint32_t devices) {
  const auto device = std::ranges::find(fleet.devices, pool.device, &Device::name);
  return device == fleet.devices.end() ? Json(nullptr) : Json(device->hbm.value * devices);
}

Json deployment_json(const Fleet& fleet, const Replica& replica) {
  const Deployment& deployment = fleet[replica.deployment];
  const Parallelism& parallel = deployment.parallelism;
  const Capacity& capacity = deployment.capacity;
  return {
      {"deployment", deployment.name},
      {"model", fleet[deployment.model].name},
      {"number_format", to_string(deployment.format)},
      {"parallelism", {{"tp", parallel.tp}, {"ep", parallel.ep}, {"dp", parallel.dp}, {"dcp", parallel.dcp}}},
      {"devices", parallel.devices()},
      {"hbm_bytes", hbm_bytes(fleet, fleet[replica.pool], parallel.devices())},
      {"weight_bytes", deployment.weights.value},
      {"kv_pool_bytes", capacity.kv_pool.value},
      {"kv_capacity_tokens", capacity.kv_per_token.value > 0 && capacity.kv_pool.value > 0
                                 ? Json(capacity.kv_pool.value / capacity.kv_per_token.value)
                                 : Json(nullptr)},
      {"longest_sequence_tokens", capacity.longest_sequence().value},
      {"context_limit_tokens", deployment.context_limit.value}};
}

/// Measured time over the profile's; nothing was seen: null.
Json speed_json(const SpeedFactor& factor) {
  if (factor.seen <= 0) return nullptr;
  return {{"ratio", factor.factor}, {"observations", factor.seen}, {"spread", factor.spread}};
}

Json slow_json(const SlowDown& slow, const Fleet& fleet) {
  return {{"replica", fleet[slow.replica].name},
          {"phase", to_string(slow.phase)},
          {"times_profile", slow.of_profile},
          {"times_siblings", or_null(slow.of_siblings)},
          {"siblings", slow.siblings},
          {"observations", slow.observations},
          {"spread", slow.spread},
          {"text", slow_down_text(slow, fleet)}};
}

Json replica_json(const Fleet& fleet, const Replica& replica, const ReplicaView& view, TimePoint now) {
  Json json{{"replica", replica.name}};
  json.update(deployment_json(fleet, replica));
  json["health"] = health_json(view.health, now);
  json["draining"] = view.draining;
  json["reported"] = reported_json(view, now);
  json["in_flight"] = {{"decoding", view.decoding}, {"before_first_token", view.before_first_token}};
  json["prediction_error"] = {{"ttft", view.errors.ttft}, {"tpot", view.errors.tpot}};
  json["measured_over_profile"] = {{"prefill", speed_json(view.prefill)},
                                   {"decode", speed_json(view.decode)}};
  json["rate_usd_per_hour"] = to_usd_per_hour(view.rate).value;
  json["generated_tokens_per_second"] = per_second(view.generating);
  json["usd_per_million_tokens"] = usd_per_million_tokens(view.rate, view.generating);
  json["charged"] = money(view.charged);
  json["unsettled"] = money(view.unsettled);
  json["idle"] = money(view.idle);
  return json;
}

Json pool_json(const Fleet& fleet, std::uint32_t index, const FleetView& view) {
  const Pool& pool = fleet.pools[index];
  PoolTotals totals;
  Json replicas = Json::array();
  for (std::size_t i = 0; i < fleet.replicas.size(); ++i) {
    const Replica& replica = fleet.replicas[i];
    if (replica.pool.value != index) continue;
    totals.add(view.replicas[i], fleet[replica.deployment].parallelism.devices());
    replicas.push_back(replica_json(fleet, replica, view.replicas[i], view.now));
  }
  const NanoUsdPerHour price = view.pool_prices[index];
  return {{"pool", pool.name},
          {"device", pool.device},
          {"capacity", to_string(pool.capacity)},
          {"region", pool.region.empty() ? Json(nullptr) : Json(pool.region)},
          {"price_usd_per_device_hour", to_usd_per_hour(price).value},
          {"devices", totals.devices},
          {"rate_usd_per_hour", to_usd_per_hour(totals.rate).value},
          {"measured_replicas", totals.measured},
          {"generated_tokens_per_second", per_second(totals.generating)},
          {"usd_per_million_tokens", usd_per_million_tokens(totals.measured_rate, totals.generating)},
          {"charged", money(totals.charged)},
          {"unsettled", money(totals.unsettled)},
          {"idle", money(totals.idle)},
          {"replicas", std::move(replicas)}};
}

}  // namespace

AdminAnswer fleet_page(const FleetView& view, const Fleet& fleet) {
  Json pools = Json::array();
  for (std::uint32_t i = 0; i < fleet.pools.size(); ++i) pools.push_back(pool_json(fleet, i, view));
  Json slow = Json::array();
  for (const SlowDown& one : view.slow_downs) slow.push_back(slow_json(one, fleet));
  return json_answer(
      200, {{"at", calendar(view.wall_now)}, {"slow_downs", std::move(slow)}, {"pools", std::move(pools)}});
}

}  // namespace fareway
