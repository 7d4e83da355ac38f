#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "pricing/base/units.hpp"
#include "router/config/problems.hpp"
#include "router/config/quantity_text.hpp"
#include "router/config/yaml_document.hpp"

namespace fareway {

// Parsers of single values for `Section`: each takes a node and returns the value or a complaint.

/// The text of a scalar, quoted or not; refuses lists, maps and nothing.
Checked<std::string> text_value(const YamlNode& node);
/// A name people choose: up to 128 letters, digits and . _ - / : @ +, so that it is safe in logs, URLs and
/// labels.
Checked<std::string> name_value(const YamlNode& node);
/// true or false.
Checked<bool> bool_value(const YamlNode& node);
/// A decimal number; text in quotes is refused.
Checked<double> decimal_value(const YamlNode& node);
/// Dollars as a number or as text, exact to the nanodollar; a million at most, so that sums stay in range.
Checked<NanoUsd> usd_value(const YamlNode& node);

/// A scalar whose text `parse` understands: `from_text(parse_bytes)`.
template <class T>
auto from_text(Checked<T> (*parse)(std::string_view)) {
  return [parse](const YamlNode& node) -> Checked<T> {
    const Checked<std::string> text = text_value(node);
    if (!text) return text.error();
    return parse(*text);
  };
}

/// A number without quotes, point or unit.
Checked<std::int64_t> whole_value(const YamlNode& node, std::int64_t least, std::int64_t most);

template <class T>
auto whole_number(std::int64_t least, std::int64_t most) {
  return [least, most](const YamlNode& node) -> Checked<T> {
    const Checked<std::int64_t> value = whole_value(node, least, most);
    if (!value) return value.error();
    if constexpr (std::integral<T>) {
      return static_cast<T>(*value);
    } else {
      return T{*value};
    }
  };
}

/// What `parse` reads, if it is more than zero and at most `most`, which is called `most_text`.
template <class F, class T>
auto positive_up_to(F parse, T most, std::string_view most_text) {
  return [parse, most, most_text](const YamlNode& node) -> Checked<T> {
    Checked<T> value = parse(node);
    if (value && *value <= T{}) return Complaint{"must be more than zero"};
    if (value && *value > most) return Complaint{fmt::format("must be at most {}", most_text)};
    return value;
  };
}

/// A number of tokens. With the bounds on KV bytes a token, no product of the two leaves 64 bits.
inline auto tokens() {
  constexpr std::int64_t kMostTokens = 100'000'000;
  return whole_number<Tokens>(1, kMostTokens);
}

inline auto size_up_to(Bytes most, std::string_view most_text) {
  return positive_up_to(from_text(parse_bytes), most, most_text);
}

template <class F>
auto positive(F parse) {
  using Result = decltype(parse(std::declval<const YamlNode&>()));
  return [parse](const YamlNode& node) -> Result {
    Result value = parse(node);
    if (value && *value <= typename Result::value_type{}) return Complaint{"must be more than zero"};
    return value;
  };
}

/// One of a few words.
template <class T, std::size_t N>
auto one_of(const std::array<std::pair<std::string_view, T>, N>& words) {
  return [words](const YamlNode& node) -> Checked<T> {
    const Checked<std::string> text = text_value(node);
    if (!text) return text.error();
    std::string known;
    for (const auto& [word, value] : words) {
      if (word == *text) return value;
      known += known.empty() ? "" : ", ";
      known += word;
    }
    return Complaint{fmt::format("{} is none of {}", in_quotes(*text), known)};
  };
}

}  // namespace fareway
