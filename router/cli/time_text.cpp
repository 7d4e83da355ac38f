#include "router/cli/time_text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace fareway {
namespace {

/// Reads exactly `digits` decimal digits and moves past them.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<WallTime> parse_time_ago(std::string_view text, WallTime now) {
  struct Unit {
    std::string_view name;
    std::chrono::seconds length;
  };
  static constexpr std::array kUnits{Unit{"s", std::chrono::seconds{1}}, Unit{"min", std::chrono::minutes{1}},
                                     Unit{"h", std::chrono::hours{1}}, Unit{"d", std::chrono::days{1}}};
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count < 0 || count > kMost) return std::nullopt;
  const std::string_view unit_name{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  for (const Unit& unit : kUnits)
    if (unit.name == unit_name) return now - unit.length * count;
  return std::nullopt;
}

}  // namespace

std::optional<WallTime> parse_instant(std::string_view text, WallTime now) {
  if (const auto ago = parse_time_ago(text, now)) return ago;

  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  const WallTime midnight{std::chrono::sys_days{date}};
  if (text.empty()) return midnight;

  if (!take(text, 'T')) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59 || !take(text, ':')) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *second > 59 || text != "Z") return std::nullopt;
  return midnight + std::chrono::hours{*hour} + std::chrono::minutes{*minute} + std::chrono::seconds{*second};
}

}  // namespace fareway
