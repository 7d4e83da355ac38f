#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "router/config/problems.hpp"
#include "router/config/yaml_document.hpp"

namespace fareway {

/// What reading one file has found so far.
struct ReadingState {
  Problems problems;
  /// Every key that was asked for, whether given or not: "pools[].replicas[].endpoint".
  std::set<std::string> known_keys;
};

/// Turns one YAML value into a T, or says what is wrong with it.
template <class F>
concept ValueParser = std::invocable<const F&, const YamlNode&>;
template <ValueParser F>
using Parsed =
    std::remove_cvref_t<decltype(*std::declval<std::invoke_result_t<const F&, const YamlNode&>>())>;

/// A typed view of one YAML map. Every problem goes to the shared state, with line and path, and reading goes
/// on with a default value: check `ok()` before anything is derived from what was read. Keys that nobody
/// asked for are reported by `finish()`, so call it last. The document and the state outlive it.
class Section {
 public:
  /// `path` is the place for people ("pools[1]"), `schema` the same without positions ("pools[]").
  Section(const YamlNode& map, std::string path, std::string schema, ReadingState& state);

  /// The key's value; reported and nothing where it is missing or wrong.
  template <ValueParser F>
  std::optional<Parsed<F>> demanded(std::string_view key, const F& parse) {
    const YamlNode* node = find(key);
    if (node != nullptr) return parsed(key, *node, parse);
    report_missing(key);
    return std::nullopt;
  }

  /// The same, with T{} for nothing.
  template <ValueParser F>
  Parsed<F> required(std::string_view key, const F& parse) {
    auto value = demanded(key, parse);
    return value ? std::move(*value) : Parsed<F>{};
  }

  /// Nothing where the key is absent or (reported) wrong.
  template <ValueParser F>
  std::optional<Parsed<F>> optional(std::string_view key, const F& parse) {
    const YamlNode* node = find(key);
    return node == nullptr ? std::nullopt : parsed(key, *node, parse);
  }

  /// Overwrites `field`, which holds the default, where the key is given.
  template <class T, ValueParser F>
  void read_into(std::string_view key, const F& parse, T& field) {
    if (auto value = optional(key, parse)) field = std::move(*value);
  }

  /// The map under `key`; nothing where it is absent.
  std::optional<Section> section(std::string_view key);

  /// Reads each map of the list under `key` with `read`, then finishes it. Nothing to read where the key is
  /// absent; a list that is given must not be empty.
  template <std::invocable<Section&> F>
  void for_each(std::string_view key, const F& read) {
    std::size_t position = 0;
    for (const YamlNode* item : list_items(key)) {
      Section section(*item, place(key_path(key), position++), key_schema(key) + "[]", *state_);
      read(section);
      section.finish();
    }
  }
  template <std::invocable<Section&> F>
  void for_each_required(std::string_view key, const F& read) {
    if (!has(key)) report_missing(key);
    for_each(key, read);
  }

  /// The list of values under `key`, each by `parse`; likewise never empty where given.
  template <ValueParser F>
  std::vector<Parsed<F>> values(std::string_view key, const F& parse) {
    std::vector<Parsed<F>> all;
    std::size_t position = 0;
    for (const YamlNode* item : list_items(key)) {
      if (auto value = parsed(place(std::string(key), position++), *item, parse))
        all.push_back(std::move(*value));
    }
    return all;
  }

  bool has(std::string_view key) const;
  bool is_list(std::string_view key) const;

  /// Reports something about the value of `key`, given or not.
  void report(std::string_view key, std::string what);
  /// Reports something about the section as a whole.
  void report(std::string what);
  /// Reports the keys that were given and never asked for. Does nothing the second time.
  void finish();

  /// Where the section stands, for what is said of it after reading.
  ConfigPlace place() const { return {.line = map_->line, .path = path_, .lines = lines_of_keys()}; }

  /// No problem was found since reading of this section began, which is true of it and of what it holds as
  /// long as sections are read one after the other.
  bool ok() const { return state_->problems.count() == problems_before_; }

 private:
  static std::string place(std::string list, std::size_t position) {
    return std::move(list) + '[' + std::to_string(position) + ']';
  }
  const YamlNode::Entry* entry(std::string_view key) const;
  const YamlNode* find(std::string_view key);
  std::vector<const YamlNode*> list_items(std::string_view key);
  std::map<std::string, int, std::less<>> lines_of_keys() const;
  void report_duplicates();
  void report_missing(std::string_view key);
  void report_at(int line, std::string_view key, std::string what);
  std::string key_path(std::string_view key) const;
  std::string key_schema(std::string_view key) const;

  template <ValueParser F>
  std::optional<Parsed<F>> parsed(std::string_view key, const YamlNode& node, const F& parse) {
    auto value = std::invoke(parse, node);
    if (value) return std::move(*value);
    report_at(node.line, key, value.error().what);
    return std::nullopt;
  }

  const YamlNode* map_;
  std::string path_;
  std::string schema_;
  ReadingState* state_;
  std::vector<std::string> asked_;
  std::size_t problems_before_;
  bool finished_{false};
};

}  // namespace fareway
