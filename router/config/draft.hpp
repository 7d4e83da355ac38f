#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "router/config/config.hpp"
#include "router/config/yaml_reader.hpp"

namespace fareway {

/// The names of one kind of thing, in the order of its array in the fleet. As a value parser it turns a name
/// into the thing's position.
class Names {
 public:
  explicit Names(std::string kind) : kind_(std::move(kind)) {}

  /// Takes the next position for the thing that `section` describes, named by its `key`, and reports a second
  /// one of that name. `usable`: the thing is complete, so that others may be checked against it.
  void define(Section& section, std::string_view key, const std::string& name, bool usable);
  /// Takes the next position for a thing that is not in the file, unless the file defines that name itself.
  bool define_if_new(const std::string& name);

  /// The position of that very name, else of one that differs in upper and lower case only.
  std::optional<std::uint32_t> find(std::string_view name) const;
  Checked<std::uint32_t> operator()(const YamlNode& node) const;
  /// What to answer to a name that does not exist. `also`: names that would be known besides.
  Complaint unknown(std::string_view name, std::span<const std::string> also = {}) const;
  bool usable(std::size_t position) const { return usable_[position]; }

 private:
  std::string kind_;
  std::vector<std::string> names_;  // for messages
  std::unordered_map<std::string, std::uint32_t> positions_;
  std::vector<bool> usable_;  // by position
};

/// A configuration while it is read. Arrays keep an element for every entry of the file, faulty ones too, so
/// that positions stay right; a draft with problems never leaves `parse_config`.
struct ConfigDraft {
  Config config;
  Names devices{"device"};
  Names models{"model"};
  Names deployments{"deployment"};
  Names classes{"class"};
  Names pools{"pool"};
  Names replicas{"replica"};
  Names tenants{"tenant"};
  Names keys{"key"};
  std::vector<std::uint32_t>
      deployment_devices;  ///< parallel to `config.fleet.deployments`: what each is for
};

// One function a section, in the order in which later ones refer to earlier ones. `top` is the whole file.
void read_listeners(Section& top, ConfigDraft& draft);
void read_tls(Section& top, ConfigDraft& draft);
/// How a pool's engines behind https:// are reached, and where that stands; nothing where the pool does not
/// say.
std::optional<TlsUpstream> read_engine_tls(Section& pool, ConfigPlace& place);
void read_limits(Section& top, ConfigDraft& draft);
void read_queue(Section& top, ConfigDraft& draft);
void read_decisions(Section& top, ConfigDraft& draft);
void read_emulator(Section& top, ConfigDraft& draft);
void read_devices(Section& top, ConfigDraft& draft);
/// Parsers of the name of a device or model, without regard to case: one of the file, or of the catalogue. A
/// model of the catalogue is then taken into the fleet, which has all its devices already. The draft outlives
/// them.
using NameParser = std::function<Checked<std::uint32_t>(const YamlNode&)>;
NameParser device_named(ConfigDraft& draft);
NameParser model_named(ConfigDraft& draft);
void read_models(Section& top, ConfigDraft& draft);
void read_deployments(Section& top, ConfigDraft& draft);
void read_pools(Section& top, ConfigDraft& draft);
void read_classes(Section& top, ConfigDraft& draft);
void read_class_defaults(Section& top, ConfigDraft& draft);
void read_tenants(Section& top, ConfigDraft& draft);
void read_rules(Section& top, ConfigDraft& draft);

/// Reads every section, with what is wrong in `state`. The draft is complete only where nothing is.
ConfigDraft read_config(const YamlNode& root, ReadingState& state);

}  // namespace fareway
