#include "router/config/config.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "placement/catalogue/nearest_name.hpp"
#include "router/config/draft.hpp"
#include "router/config/problems.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

/// Reads a byte more than is allowed, so that `read_yaml` sees that it is too much.
std::string read_file(const std::filesystem::path& file) {
  const auto refuse = [&](std::string what) {
    return ConfigError(file.string(), {{.line = 0, .path = {}, .what = std::move(what)}});
  };
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) throw refuse("does not exist; name the configuration file");
  if (std::filesystem::is_directory(status)) throw refuse("is a directory; name the configuration file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw refuse("cannot be opened; check its permissions");
  std::string text(kLargestConfigBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw refuse("cannot be read");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace

void Names::define(Section& section, std::string_view key, const std::string& name, bool usable) {
  const auto position = static_cast<std::uint32_t>(usable_.size());
  const bool taken = !name.empty() && !positions_.emplace(name, position).second;
  if (taken)
    section.report(key, fmt::format("a second {} is called {}; names must differ", kind_, in_quotes(name)));
  if (!name.empty()) names_.push_back(name);
  usable_.push_back(usable && !taken);
}

bool Names::define_if_new(const std::string& name) {
  if (!positions_.emplace(name, static_cast<std::uint32_t>(usable_.size())).second) return false;
  names_.push_back(name);
  usable_.push_back(true);
  return true;
}

std::optional<std::uint32_t> Names::find(std::string_view name) const {
  const auto exact = positions_.find(std::string(name));
  if (exact != positions_.end()) return exact->second;
  const auto alike =
      std::ranges::find_if(names_, [&](const std::string& each) { return same_name(each, name); });
  if (alike == names_.end()) return std::nullopt;
  return positions_.at(*alike);
}

Complaint Names::unknown(std::string_view name, std::span<const std::string> also) const {
  std::vector<std::string> known = names_;
  known.insert(known.end(), also.begin(), also.end());
  return Complaint{fmt::format("no {} is named {}; {}", kind_, in_quotes(name), suggestion(name, known))};
}

Checked<std::uint32_t> Names::operator()(const YamlNode& node) const {
  const Checked<std::string> name = text_value(node);
  if (!name) return name.error();
  const auto found = positions_.find(*name);
  if (found != positions_.end()) return found->second;
  return unknown(*name);
}

ConfigDraft read_config(const YamlNode& root, ReadingState& state) {
  ConfigDraft draft;
  Section top(root, {}, {}, state);
  read_listeners(top, draft);
  read_tls(top, draft);
  read_limits(top, draft);
  read_queue(top, draft);
  read_decisions(top, draft);
  read_emulator(top, draft);
  read_devices(top, draft);
  read_models(top, draft);
  read_deployments(top, draft);
  read_pools(top, draft);
  read_classes(top, draft);
  read_class_defaults(top, draft);
  read_tenants(top, draft);
  read_rules(top, draft);
  top.finish();
  return draft;
}

Config parse_config(std::string_view text, const std::string& name) {
  ReadingState state;
  const std::shared_ptr<const YamlNode> root = read_yaml(text, state.problems);
  if (!root) throw ConfigError(name, state.problems.sorted());
  ConfigDraft draft = read_config(*root, state);
  if (!state.problems.empty()) throw ConfigError(name, state.problems.sorted());
  draft.config.file = name;
  return std::move(draft.config);
}

Config load_config(const std::filesystem::path& file) {
  return parse_config(read_file(file), file.string());
}

}  // namespace fareway
