#include "pricing/money.hpp"

#include <charconv>

namespace fareway {
namespace {

constexpr std::int64_t kLargestWholeUsd = 9'000'000'000;
constexpr std::size_t kDecimals = 9;

std::optional<std::int64_t> parse_digits(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.front() == '-')
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<NanoUsd> parse_usd(std::string_view text) {
  const auto point = text.find('.');
  const std::string_view whole_text = text.substr(0, point);
  if (whole_text.empty()) return std::nullopt;
  const auto whole = parse_digits(whole_text);
  if (!whole || *whole > kLargestWholeUsd) return std::nullopt;
  if (point == std::string_view::npos) return NanoUsd{*whole * kNanoPerUsd};

  std::string fraction_text{text.substr(point + 1)};
  if (fraction_text.empty() || fraction_text.size() > kDecimals) return std::nullopt;
  fraction_text.resize(kDecimals, '0');
  const auto fraction = parse_digits(fraction_text);
  if (!fraction) return std::nullopt;
  return NanoUsd{*whole * kNanoPerUsd + *fraction};
}

std::string format_usd(NanoUsd amount) {
  // Through unsigned arithmetic, so that the most negative amount has a text too.
  const bool negative = amount.value < 0;
  auto magnitude = static_cast<std::uint64_t>(amount.value);
  if (negative) magnitude = 0 - magnitude;
  constexpr auto kNano = static_cast<std::uint64_t>(kNanoPerUsd);

  std::string fraction = std::to_string(magnitude % kNano);
  fraction.insert(0, kDecimals - fraction.size(), '0');
  constexpr std::size_t kCents = 2;
  while (fraction.size() > kCents && fraction.back() == '0') fraction.pop_back();
  return (negative ? "-$" : "$") + std::to_string(magnitude / kNano) + "." + fraction;
}

}  // namespace fareway
