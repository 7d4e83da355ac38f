#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/algorithm/string/case_conv.hpp>
#include <fmt/format.h>

#include "router/config/draft.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

/// 64 hexadecimal digits, returned in lower case. A plain key put here by mistake is not repeated.
Checked<std::string> sha256_value(const YamlNode& node) {
  constexpr std::size_t kDigits = 64;
  Checked<std::string> text = text_value(node);
  if (!text) return text;
  boost::algorithm::to_lower(*text, std::locale::classic());
  if (text->size() != kDigits || text->find_first_not_of("0123456789abcdef") != std::string::npos) {
    return Complaint{
        "must be the key's SHA-256 as 64 hexadecimal digits; printf %s \"$KEY\" | sha256sum prints it"};
  }
  return text;
}

void read_key(Section& section, TenantIndex tenant, ConfigDraft& draft) {
  std::vector<ApiKey>& keys = draft.config.keys;
  ApiKey key{.id = section.required("id", name_value),
             .sha256 = section.required("sha256", sha256_value),
             .tenant = tenant,
             .default_class = ClassIndex{section.required("default_class", draft.classes)},
             .classes = {}};
  for (const std::uint32_t allowed : section.values("classes", draft.classes))
    key.classes.push_back({allowed});
  if (section.ok() && !key.allows(key.default_class)) {
    section.report("default_class", "is not among the classes this key may ask for; add it to classes");
  }
  const auto same = std::ranges::find(keys, key.sha256, &ApiKey::sha256);
  if (!key.sha256.empty() && same != keys.end()) {
    section.report("sha256", fmt::format("is the same key as {}; keys must differ", in_quotes(same->id)));
  }
  draft.keys.define(section, "id", key.id, section.ok());
  keys.push_back(std::move(key));
}

auto existing_region(const Fleet& fleet) {
  std::vector<std::string> regions;
  for (const Pool& pool : fleet.pools) {
    const bool is_new = std::ranges::find(regions, pool.region) == regions.end();
    if (is_new && !pool.region.empty()) regions.push_back(pool.region);
  }
  return [regions = std::move(regions)](const YamlNode& node) -> Checked<std::string> {
    Checked<std::string> name = name_value(node);
    if (!name || std::ranges::find(regions, *name) != regions.end()) return name;
    return Complaint{
        fmt::format("no pool is in region {}; {}", in_quotes(*name), suggestion(*name, regions))};
  };
}

Checked<NanoUsdPerHour> price_ceiling(const YamlNode& node) {
  const Checked<NanoUsd> price = positive(usd_value)(node);
  if (!price) return price.error();
  return NanoUsdPerHour{price->value};
}

void read_tenant(Section& section, ConfigDraft& draft) {
  Fleet& fleet = draft.config.fleet;
  const TenantIndex position{static_cast<std::uint32_t>(fleet.tenants.size())};
  TenantRules tenant;
  tenant.name = section.required("name", name_value);
  for (const std::uint32_t model : section.values("models", draft.models)) tenant.models.push_back({model});
  tenant.regions = section.values("regions", existing_region(fleet));
  tenant.max_per_device_hour = section.optional("max_usd_per_device_hour", price_ceiling);
  section.for_each_required("keys", [&](Section& key) { read_key(key, position, draft); });
  section.finish();
  draft.tenants.define(section, "name", tenant.name, section.ok());
  fleet.tenants.push_back(std::move(tenant));
}

}  // namespace

void read_tenants(Section& top, ConfigDraft& draft) {
  top.for_each_required("tenants", [&](Section& section) { read_tenant(section, draft); });
}

}  // namespace fareway
