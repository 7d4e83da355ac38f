#include "router/config/value_parsers.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "pricing/money.hpp"
#include "router/config/quantity_text.hpp"

namespace fareway {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr NanoUsd kMostDollars{1'000'000 * kNanoPerUsd};

bool is_name_character(char c) {
  constexpr std::string_view kSigns = "._-/:@+";
  const bool ascii = static_cast<unsigned char>(c) < 0x80;
  return (ascii && std::isalnum(static_cast<unsigned char>(c)) != 0) ||
         kSigns.find(c) != std::string_view::npos;
}

/// The text of a scalar that is not in quotes.
Checked<std::string> bare_text(const YamlNode& node, std::string_view kind) {
  Checked<std::string> text = text_value(node);
  if (text && node.was_quoted) {
    return Complaint{
        fmt::format("{} is text where {} is needed; leave the quotes out", in_quotes(*text), kind)};
  }
  return text;
}

}  // namespace

Checked<std::string> text_value(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kScalar:
      if (node.text.empty()) return Complaint{"is empty; give it a value or leave the key out"};
      return node.text;
    case YamlNode::Kind::kNull:
      return Complaint{"has no value; give it one or leave the key out"};
    case YamlNode::Kind::kList:
      return Complaint{"must be a single value, not a list"};
    case YamlNode::Kind::kMap:
      return Complaint{"must be a single value, not keys and values"};
  }
  return Complaint{"must be a single value"};
}

Checked<std::string> name_value(const YamlNode& node) {
  Checked<std::string> text = text_value(node);
  if (!text) return text;
  if (text->size() > kLongestName || !std::ranges::all_of(*text, is_name_character)) {
    return Complaint{fmt::format("{} is no name; use up to {} letters, digits and . _ - / : @ +",
                                 in_quotes(*text), kLongestName)};
  }
  return text;
}

Checked<bool> bool_value(const YamlNode& node) {
  const Checked<std::string> text = bare_text(node, "true or false");
  if (!text) return text.error();
  if (*text == "true") return true;
  if (*text == "false") return false;
  return Complaint{fmt::format("{} is neither true nor false", in_quotes(*text))};
}

Checked<double> decimal_value(const YamlNode& node) {
  const Checked<std::string> text = bare_text(node, "a number");
  if (!text) return text.error();
  return parse_decimal(*text);
}

Checked<NanoUsd> usd_value(const YamlNode& node) {
  const Checked<std::string> text = text_value(node);
  if (!text) return text.error();
  const auto amount = parse_usd(*text);
  if (!amount) {
    return Complaint{
        fmt::format("{} is no amount of dollars; write it as 2.50, without sign, currency or exponent "
                    "and with at most nine decimals",
                    in_quotes(*text))};
  }
  if (*amount > kMostDollars) return Complaint{"is more than a million dollars; is the unit right?"};
  return *amount;
}

Checked<std::int64_t> whole_value(const YamlNode& node, std::int64_t least, std::int64_t most) {
  const Checked<std::string> text = bare_text(node, "a whole number");
  if (!text) return text.error();
  std::int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) {
    return Complaint{fmt::format("{} is no whole number; write digits only", in_quotes(*text))};
  }
  if (error != std::errc{} || value < least || value > most) {
    return Complaint{
        fmt::format("{} is out of range; it must be from {} to {}", in_quotes(*text), least, most)};
  }
  return value;
}

}  // namespace fareway
