#include "router/gateway/dry_run.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "router/gateway/job_builder.hpp"
#include "router/gateway/shaping.hpp"

namespace fareway {
namespace {

template <class T>
std::optional<std::uint32_t> position_of(const std::vector<T>& things, std::string_view name) {
  const auto found = std::ranges::find(things, name, &T::name);
  if (found == things.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - things.begin());
}

const ApiKey* find_key(const Config& config, const std::string& id) {
  if (id.empty()) return config.keys.empty() ? nullptr : &config.keys.front();
  const auto found = std::ranges::find(config.keys, id, &ApiKey::id);
  return found == config.keys.end() ? nullptr : &*found;
}

std::string known_keys(const Config& config) {
  std::string known;
  for (const ApiKey& key : config.keys) known += (known.empty() ? "" : ", ") + key.id;
  return known;
}

}  // namespace

boost::system::result<DecisionRecord, Refusal> dry_run(DryRunRequest request, const Config& config,
                                                       LiveFleet& fleet, ShapeReader& reader, TimePoint now,
                                                       WallTime wall_now) {
  const Route route = find_route("POST", request.path);
  if (const auto* refusal = std::get_if<Refusal>(&route)) return *refusal;
  const Api* api = std::get_if<Api>(&route);
  if (api == nullptr) return refusals::unknown_path();
  const ApiKey* key = find_key(config, request.key_id);
  if (key == nullptr)
    return refusals::bad_request("No key has this id. Keys: " + known_keys(config) + ".", "key");

  std::optional<ClassIndex> service_class;
  if (!request.service_class.empty()) {
    const auto named = position_of(config.fleet.classes, request.service_class);
    if (!named) return refusals::unknown_class(config.fleet.classes);
    service_class = ClassIndex{*named};
    if (!key->allows(*service_class)) return refusals::class_not_permitted(request.service_class);
  }
  const auto facts = reader.read(*api, request.body);
  if (!facts) return facts.error();
  const auto model = position_of(config.fleet.models, facts->model);
  if (!model || !may_use(config.fleet[key->tenant], ModelIndex{*model}))
    return refusals::model_not_found(facts->model);

  RecognisedRequest recognised{
      .api = *api, .tenant = key->tenant, .model = {*model}, .service_class = {}, .session = {}};
  recognised.service_class = service_class.value_or(default_class(config, *key, *api, recognised.model));
  recognised.session = request.session.empty() ? facts->cache_key : std::string_view(request.session);
  DecisionRecord record;
  record.decided_at = wall_now;
  record.tenant = config.fleet[key->tenant].name;
  record.shape = shape_of(recognised, *facts, fleet, wall_now);
  record.shape.prefix = reader.prefix(prefix_seed(recognised.tenant, recognised.model));
  record.attempts.push_back(fleet.decide(record.shape, {}, now));
  return record;
}

}  // namespace fareway
