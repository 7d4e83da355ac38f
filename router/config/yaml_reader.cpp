#include "router/config/yaml_reader.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace fareway {
namespace {

/// Each is compared with every known key, so a large file of anything else must not take minutes.
constexpr int kMostUnknownKeys = 100;

std::string joined(std::string_view parent, std::string_view key) {
  return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
}

}  // namespace

Section::Section(const YamlNode& map, std::string path, std::string schema, ReadingState& state)
    : map_(&map),
      path_(std::move(path)),
      schema_(std::move(schema)),
      state_(&state),
      problems_before_(state.problems.count()) {
  if (map.kind != YamlNode::Kind::kMap) {
    state_->problems.add(map.line, path_, "must hold keys and values, as key: value");
  }
  report_duplicates();
}

void Section::report_duplicates() {
  std::unordered_map<std::string_view, int> first_lines;
  for (const YamlNode::Entry& entry : map_->entries) {
    const auto [first, is_new] = first_lines.emplace(entry.key, entry.line);
    if (is_new) continue;
    report_at(entry.line, entry.key,
              fmt::format("is given twice, first on line {}; keep one", first->second));
  }
}

const YamlNode::Entry* Section::entry(std::string_view key) const {
  const auto found = std::ranges::find(map_->entries, key, &YamlNode::Entry::key);
  return found == map_->entries.end() ? nullptr : &*found;
}

const YamlNode* Section::find(std::string_view key) {
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.emplace_back(key);
  state_->known_keys.insert(key_schema(key));
  const YamlNode::Entry* found = entry(key);
  return found == nullptr ? nullptr : found->value.get();
}

bool Section::has(std::string_view key) const {
  return entry(key) != nullptr;
}

bool Section::is_list(std::string_view key) const {
  const YamlNode::Entry* found = entry(key);
  return found != nullptr && found->value->kind == YamlNode::Kind::kList;
}

std::optional<Section> Section::section(std::string_view key) {
  const YamlNode* node = find(key);
  if (node == nullptr) return std::nullopt;
  return Section(*node, key_path(key), key_schema(key), *state_);
}

std::vector<const YamlNode*> Section::list_items(std::string_view key) {
  const YamlNode* node = find(key);
  if (node == nullptr) return {};
  if (node->kind != YamlNode::Kind::kList) {
    report_at(node->line, key, "must be a list");
    return {};
  }
  if (node->items.empty()) report_at(node->line, key, "is an empty list; add an entry or leave the key out");
  std::vector<const YamlNode*> items;
  for (const auto& item : node->items) items.push_back(item.get());
  return items;
}

void Section::report(std::string_view key, std::string what) {
  const YamlNode::Entry* found = entry(key);
  report_at(found == nullptr ? map_->line : found->value->line, key, std::move(what));
}

void Section::report(std::string what) {
  state_->problems.add(map_->line, path_, std::move(what));
}

void Section::report_missing(std::string_view key) {
  if (map_->kind != YamlNode::Kind::kMap) return;  // said already
  state_->problems.add(map_->line, key_path(key), "is missing; it has no default");
}

void Section::report_at(int line, std::string_view key, std::string what) {
  state_->problems.add(line, key_path(key), std::move(what));
}

std::map<std::string, int, std::less<>> Section::lines_of_keys() const {
  std::map<std::string, int, std::less<>> lines;
  for (const YamlNode::Entry& entry : map_->entries) lines.emplace(entry.key, entry.value->line);
  return lines;
}

void Section::finish() {
  if (std::exchange(finished_, true)) return;
  int unknown = 0;
  for (const YamlNode::Entry& entry : map_->entries) {
    if (std::ranges::find(asked_, entry.key) != asked_.end()) continue;
    if (++unknown > kMostUnknownKeys) {
      report_at(entry.line, entry.key, "unknown key, like more below");
      return;
    }
    const std::string what = entry.key == "<<" ? "merge keys are not supported; repeat the keys"
                                               : "unknown key; " + suggestion(entry.key, asked_);
    report_at(entry.line, entry.key, what);
  }
}

std::string Section::key_path(std::string_view key) const {
  constexpr std::size_t kLongestKey = 60;
  const bool plain = !key.empty() && key.size() <= kLongestKey &&
                     std::ranges::all_of(key, [](char c) { return c > ' ' && c < '\x7f'; });
  return joined(path_, plain ? std::string(key) : in_quotes(key));
}

std::string Section::key_schema(std::string_view key) const {
  return joined(schema_, key);
}

}  // namespace fareway
