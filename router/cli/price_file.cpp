#include "router/cli/price_file.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "placement/catalogue/catalogue.hpp"
#include "router/cli/commands.hpp"
#include "router/config/config.hpp"
#include "router/config/problems.hpp"
#include "router/config/quantity_text.hpp"
#include "router/config/yaml_document.hpp"

namespace fareway {
namespace {

constexpr double kMostPerHour = 10'000;

void read_price(const YamlNode::Entry& entry, DevicePrices& prices, Problems& problems) {
  const std::string path = "usd_per_device_hour." + entry.key;
  const Device* device = find_device(entry.key);
  if (device == nullptr) {
    const auto nearest = nearest_device_name(entry.key);
    problems.add(entry.line, path,
                 nearest ? fmt::format("no such device; did you mean \"{}\"?", *nearest)
                         : std::string{"no such device in the catalogue"});
    return;
  }
  const auto price = parse_decimal(entry.value->text);
  if (entry.value->kind != YamlNode::Kind::kScalar || !price || *price <= 0 || *price > kMostPerHour) {
    problems.add(entry.line, path, fmt::format("must be dollars, above 0 and at most {}", kMostPerHour));
    return;
  }
  if (!prices.per_hour.emplace(device->name, UsdPerHour{*price}).second)
    problems.add(entry.line, path, "is given twice");
}

void read_entry(const YamlNode::Entry& entry, DevicePrices& prices, Problems& problems) {
  if (entry.key == "as_of") {
    prices.as_of = entry.value->text;
  } else if (entry.key == "source") {
    prices.source = entry.value->text;
  } else if (entry.key != "usd_per_device_hour") {
    problems.add(entry.line, entry.key, "unknown key; known: as_of, source, usd_per_device_hour");
  } else if (entry.value->kind != YamlNode::Kind::kMap) {
    problems.add(entry.line, entry.key, "must be a map from device to dollars");
  } else {
    for (const YamlNode::Entry& price : entry.value->entries) read_price(price, prices, problems);
  }
}

}  // namespace

DevicePrices load_prices(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  if (!stream) throw UsageError(fmt::format("--prices: {} cannot be read", file.string()));
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  Problems problems;
  DevicePrices prices{.source = file.string()};
  const auto document = read_yaml(text, problems);
  if (document != nullptr && document->kind == YamlNode::Kind::kMap) {
    for (const YamlNode::Entry& entry : document->entries) read_entry(entry, prices, problems);
  } else if (problems.empty()) {
    problems.add(1, "", "must be a map with usd_per_device_hour");
  }
  if (!problems.empty()) throw ConfigError(file.string(), problems.sorted());
  if (prices.per_hour.empty()) throw UsageError(fmt::format("--prices: {} has no price", file.string()));
  return prices;
}

}  // namespace fareway
