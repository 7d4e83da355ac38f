#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "placement/speed/speed_estimate.hpp"
#include "router/config/address_text.hpp"
#include "router/config/draft.hpp"
#include "router/config/quantity_text.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

constexpr std::array<std::pair<std::string_view, CapacityKind>, 3> kCapacityKinds{
    {{"reserved", CapacityKind::kReserved},
     {"on_demand", CapacityKind::kOnDemand},
     {"spot", CapacityKind::kSpot}}};

Checked<NanoUsdPerHour> hourly_price(const YamlNode& node) {
  const Checked<NanoUsd> price = usd_value(node);
  if (!price) return price.error();
  if (price->value == 0)
    return Complaint{"must be more than zero; capacity that is paid anyway is reserved, not free"};
  return NanoUsdPerHour{price->value};
}

Checked<const EngineAdapter*> engine_adapter(const YamlNode& node) {
  const Checked<std::string> name = text_value(node);
  if (!name) return name.error();
  if (const EngineAdapter* engine = find_engine(*name)) return engine;
  return Complaint{fmt::format("{} is no engine; known: {}", in_quotes(*name), engine_names())};
}

/// The secret in an environment variable. Complaints never repeat the text: it could be the secret itself.
Checked<std::string> secret_in_environment(const YamlNode& node) {
  const Checked<std::string> name = text_value(node);
  if (!name) return name.error();
  const bool is_name =
      std::ranges::all_of(*name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!is_name)
    return Complaint{"must be the name of an environment variable that holds the key, not the key"};
  const char* const secret = std::getenv(name->c_str());
  if (secret == nullptr || *secret == '\0') {
    return Complaint{"the environment variable named here is not set; export it, or leave the key out"};
  }
  const std::string_view value(secret);
  if (!std::ranges::all_of(value, [](char c) { return c > ' ' && c < '\x7f'; })) {
    return Complaint{
        "the environment variable named here holds spaces or control characters; no key has them"};
  }
  return std::string(value);
}

std::vector<PriceStep> read_schedule(Section& pool) {
  constexpr std::string_view kKey = "usd_per_device_hour";
  if (!pool.is_list(kKey)) return {{.from = {}, .per_device_hour = pool.required(kKey, hourly_price)}};
  std::vector<PriceStep> schedule;
  pool.for_each(kKey, [&](Section& section) {
    const PriceStep step{.from = section.required("from", from_text(parse_rfc3339)),
                         .per_device_hour = section.required(kKey, hourly_price)};
    if (section.ok() && !schedule.empty() && step.from <= schedule.back().from) {
      section.report("from", "is not after the step before it; list the steps in the order of time");
    }
    schedule.push_back(step);
  });
  return schedule;
}

void check_endpoint(Section& section, const ListenAddress& endpoint, const Config& config) {
  const auto same = [&](const ReplicaAccess& other) {
    return same_address(endpoint, {.host = other.endpoint.host, .port = other.endpoint.port});
  };
  const auto other = std::ranges::find_if(config.access, same);
  if (other != config.access.end()) {
    const auto position = static_cast<std::size_t>(other - config.access.begin());
    section.report("endpoint", fmt::format("is the endpoint of replica {} too; each replica has its own",
                                           in_quotes(config.fleet.replicas[position].name)));
  }
  if (same_address(endpoint, config.listen) || same_address(endpoint, config.admin)) {
    section.report("endpoint", "is this router's own address; requests would go round in circles");
  }
}

void check_device(Section& section, const ConfigDraft& draft, std::size_t deployment,
                  const std::string& pool_device) {
  const Fleet& fleet = draft.config.fleet;
  const std::string& device = fleet.devices[draft.deployment_devices[deployment]].name;
  if (device == pool_device) return;
  section.report("deployment", fmt::format("{} is for {}, but this pool has {}; use a deployment for {}",
                                           in_quotes(fleet.deployments[deployment].name), device, pool_device,
                                           pool_device));
}

void read_endpoint(Section& section, const std::optional<TlsUpstream>& tls, const Config& config,
                   Endpoint& into) {
  const auto url = section.demanded("endpoint", from_text(parse_endpoint));
  if (!url) return;
  check_endpoint(section, url->address, config);
  into.host = url->address.host;
  into.port = url->address.port;
  if (url->secure) into.tls = tls.value_or(TlsUpstream{});
}

void read_replica(Section& section, PoolIndex pool, std::optional<std::uint32_t> pool_device,
                  const std::optional<TlsUpstream>& tls, ConfigDraft& draft) {
  Fleet& fleet = draft.config.fleet;
  Replica replica;
  replica.pool = pool;
  replica.name = section.required("name", name_value);
  ReplicaAccess access;
  access.engine = section.required("engine", engine_adapter);
  read_endpoint(section, tls, draft.config, access.endpoint);
  section.read_into("api_key_env", secret_in_environment, access.endpoint.api_key);
  const auto deployment = section.demanded("deployment", draft.deployments);
  replica.deployment = DeploymentIndex{deployment.value_or(0)};
  Tokens kv_tokens{0};
  if (deployment && draft.deployments.usable(*deployment)) {
    if (pool_device) check_device(section, draft, *deployment, fleet.devices[*pool_device].name);
    const Capacity& capacity = fleet.deployments[*deployment].capacity;
    replica.errors = initial_errors(fleet.deployments[*deployment].speed_basis);
    kv_tokens = {capacity.kv_pool.value / capacity.kv_per_token.value};
  }
  section.finish();
  draft.replicas.define(section, "name", replica.name, section.ok());
  fleet.replicas.push_back(std::move(replica));
  fleet.prefixes.add_replica(kv_tokens);
  draft.config.access.push_back(std::move(access));
}

void read_pool(Section& section, ConfigDraft& draft) {
  Fleet& fleet = draft.config.fleet;
  const PoolIndex position{static_cast<std::uint32_t>(fleet.pools.size())};
  Pool pool;
  pool.name = section.required("name", name_value);
  const auto device = section.demanded("device", device_named(draft));
  if (device) pool.device = fleet.devices[*device].name;
  section.read_into("region", name_value, pool.region);
  pool.capacity = section.required("capacity", one_of(kCapacityKinds));
  std::vector<PriceStep> schedule = read_schedule(section);
  // What holds now is known only to a clock: until the fleet is live, the first step.
  if (!schedule.empty()) pool.per_device_hour = schedule.front().per_device_hour;
  const std::size_t first_replica = fleet.replicas.size();
  ConfigPlace tls_place;
  const std::optional<TlsUpstream> tls = read_engine_tls(section, tls_place);
  section.for_each_required("replicas",
                            [&](Section& replica) { read_replica(replica, position, device, tls, draft); });
  const auto is_secure = [](const ReplicaAccess& access) { return access.endpoint.tls.has_value(); };
  if (tls && section.ok() &&
      std::none_of(draft.config.access.begin() + static_cast<std::ptrdiff_t>(first_replica),
                   draft.config.access.end(), is_secure)) {
    section.report("tls", "has no effect: no endpoint of this pool starts with https://");
  }
  section.finish();
  draft.pools.define(section, "name", pool.name, section.ok());
  fleet.pools.push_back(std::move(pool));
  draft.config.price_schedules.push_back(std::move(schedule));
  draft.config.tls_places.pools.push_back(std::move(tls_place));
}

}  // namespace

void read_pools(Section& top, ConfigDraft& draft) {
  top.for_each_required("pools", [&](Section& section) { read_pool(section, draft); });
}

}  // namespace fareway
