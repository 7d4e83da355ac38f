#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/problems.hpp"

namespace fareway {

/// One value of a YAML or JSON document and the line it stands on. Unlike yaml-cpp's own nodes it keeps a key
/// that is given twice, and whether a scalar was quoted.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry {
    std::string key;
    int line;
    std::shared_ptr<const YamlNode> value;
  };

  Kind kind{Kind::kNull};
  int line{};  ///< 1-based
  std::string text;
  bool was_quoted{false};
  std::vector<std::shared_ptr<const YamlNode>> items;
  std::vector<Entry> entries;
};

inline constexpr std::size_t kLargestConfigBytes = std::size_t{4} << 20;
inline constexpr std::size_t kDeepestNesting = 64;
/// Aliases count with all that they stand for, so that a few lines cannot stand for billions of values.
inline constexpr std::size_t kMostYamlNodes = 200'000;

/// The only document of `text`. Null where it is no YAML or exceeds a limit; `problems` then says so, with
/// the line.
std::shared_ptr<const YamlNode> read_yaml(std::string_view text, Problems& problems);

}  // namespace fareway
