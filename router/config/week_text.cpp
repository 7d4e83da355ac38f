#include "router/config/week_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace fareway {
namespace {

constexpr std::array<std::string_view, 7> kDays{"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr std::uint32_t kMinutesOfDay = 24 * 60;

struct Range {
  std::uint32_t from{};
  std::uint32_t until{};
};

std::optional<std::uint32_t> day_number(std::string_view text) {
  const auto found = std::ranges::find(kDays, text);
  if (found == kDays.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - kDays.begin());
}

std::optional<std::uint32_t> number(std::string_view digits, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = digits.size() == 2 && error == std::errc{} && end == digits.data() + digits.size();
  return whole && value <= most ? std::optional(value) : std::nullopt;
}

/// "08:30"; "24:00" is the end of the day.
std::optional<std::uint32_t> minute_of_day(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto hours = number(text.substr(0, colon), 24);
  const auto minutes = number(text.substr(colon + 1), 59);
  if (!hours || !minutes || *hours * 60 + *minutes > kMinutesOfDay) return std::nullopt;
  return *hours * 60 + *minutes;
}

std::pair<std::string_view, std::string_view> split(std::string_view text, char at) {
  const std::size_t found = text.find(at);
  if (found == std::string_view::npos) return {text, {}};
  return {text.substr(0, found), text.substr(found + 1)};
}

std::optional<Range> day_range(std::string_view text) {
  const auto [first, last] = split(text, '-');
  const auto from = day_number(first);
  const auto until = text.find('-') == std::string_view::npos ? from : day_number(last);
  if (!from || !until) return std::nullopt;
  return Range{*from, *until};
}

std::optional<Range> hour_range(std::string_view text) {
  const auto [first, last] = split(text, '-');
  const auto from = minute_of_day(first);
  const auto until = minute_of_day(last);
  if (!from || !until || *from == *until || *from == kMinutesOfDay) return std::nullopt;
  return Range{*from, *until};
}

void add_window(std::vector<WeekWindow>& windows, std::uint32_t from, std::uint32_t until) {
  windows.push_back({from, std::min(until, kMinutesOfWeek)});
  if (until > kMinutesOfWeek) windows.push_back({0, until - kMinutesOfWeek});
}

}  // namespace

Checked<std::vector<WeekWindow>> parse_week_windows(std::string_view text) {
  const auto [first, second] = split(text, ' ');
  const bool starts_with_day = day_range(first).has_value();
  const std::string_view hours_text = starts_with_day ? second : text;
  const auto days = starts_with_day ? day_range(first) : std::optional(Range{0, 6});
  const auto hours =
      starts_with_day && second.empty() ? std::optional(Range{0, kMinutesOfDay}) : hour_range(hours_text);
  if (!days || !hours || (starts_with_day && text.ends_with(' '))) {
    return Complaint{
        fmt::format("{} is no time of the week; write days, hours or both, in UTC: \"mon-fri "
                    "08:00-18:00\", \"sat\", \"22:00-06:00\"",
                    in_quotes(text))};
  }
  std::vector<WeekWindow> windows;
  const std::uint32_t length =
      hours->until > hours->from ? hours->until - hours->from : kMinutesOfDay - hours->from + hours->until;
  for (std::uint32_t day = days->from;; day = (day + 1) % 7) {
    const std::uint32_t from = day * kMinutesOfDay + hours->from;
    add_window(windows, from, from + length);
    if (day == days->until) break;
  }
  return windows;
}

}  // namespace fareway
