#include "router/config/quantity_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

namespace fareway {
namespace {

/// A unit is `factor` × 10^`exponent` of the base unit.
struct Unit {
  std::string_view name;
  std::int64_t factor;
  int exponent;
};

struct UnitTable {
  std::string_view example;
  std::span<const Unit> units;
};

constexpr std::array kTimeUnits{Unit{"ns", 1, -9}, Unit{"us", 1, -6},  Unit{"ms", 1, -3},
                                Unit{"s", 1, 0},   Unit{"min", 60, 0}, Unit{"h", 3600, 0}};
constexpr std::array kSizeUnits{Unit{"B", 1, 0},
                                Unit{"kB", 1, 3},
                                Unit{"MB", 1, 6},
                                Unit{"GB", 1, 9},
                                Unit{"TB", 1, 12},
                                Unit{"KiB", 1024, 0},
                                Unit{"MiB", 1024 * 1024, 0},
                                Unit{"GiB", kGibibyte, 0},
                                Unit{"TiB", kGibibyte * 1024, 0}};
constexpr std::array kBandwidthUnits{Unit{"GB/s", 1, 9}, Unit{"TB/s", 1, 12}};
constexpr std::array kFlopsUnits{Unit{"TFLOPS", 1, 12}, Unit{"PFLOPS", 1, 15}};

constexpr UnitTable kTime{"250ms", kTimeUnits};
constexpr UnitTable kSize{"192GiB", kSizeUnits};
constexpr UnitTable kBandwidth{"5.3TB/s", kBandwidthUnits};
constexpr UnitTable kFlops{"1307.4TFLOPS", kFlopsUnits};

constexpr std::size_t kMostDigits = 30;
/// 10^6 × the largest unit of size still fits 64 bits, so fractions are exact integer arithmetic.
constexpr std::size_t kMostDecimals = 6;
constexpr Seconds kLongestTime = std::chrono::days{366};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::int64_t power_of_ten(std::size_t exponent) {
  std::int64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

std::string choices(const UnitTable& table) {
  std::string names;
  for (const Unit& unit : table.units) {
    if (!names.empty()) names += ", ";
    names += unit.name;
  }
  return fmt::format("write a number and one of {}, as {}", names, in_quotes(table.example));
}

/// Digits, or digits, a point and digits.
bool is_decimal(std::string_view number) {
  const auto point = std::ranges::find(number, '.');
  const bool whole = point != number.begin() && std::all_of(number.begin(), point, is_digit);
  if (!whole || point == number.end()) return whole;
  return point + 1 != number.end() && std::all_of(point + 1, number.end(), is_digit);
}

struct Amount {
  std::string_view number;
  Unit unit;
};

Checked<Amount> split(std::string_view text, const UnitTable& table) {
  if (text.starts_with('-'))
    return Complaint{fmt::format("{} is negative; {}", in_quotes(text), choices(table))};
  const auto end = std::ranges::find_if(text, [](char c) { return !is_digit(c) && c != '.'; });
  const std::string_view number(text.begin(), end);
  std::string_view unit(end, text.end());
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (!is_decimal(number))
    return Complaint{fmt::format("{} is no amount; {}", in_quotes(text), choices(table))};
  if (number.size() > kMostDigits) return Complaint{fmt::format("{} has too many digits", in_quotes(text))};
  if (unit.empty()) return Complaint{fmt::format("{} has no unit; {}", in_quotes(text), choices(table))};
  const auto known = std::ranges::find(table.units, unit, &Unit::name);
  if (known == table.units.end()) {
    return Complaint{
        fmt::format("{} has an unknown unit {}; {}", in_quotes(text), in_quotes(unit), choices(table))};
  }
  return Amount{number, *known};
}

/// Correctly rounded: the decimal exponent goes into the conversion instead of a second rounding.
double to_double(std::string_view number, int exponent) {
  const std::string scientific = fmt::format("{}e{}", number, exponent);
  double value = 0;
  std::from_chars(scientific.data(), scientific.data() + scientific.size(), value);
  return value;
}

Checked<double> parse_quantity(std::string_view text, const UnitTable& table) {
  const Checked<Amount> amount = split(text, table);
  if (!amount) return amount.error();
  return to_double(amount->number, amount->unit.exponent) * static_cast<double>(amount->unit.factor);
}

struct Whole {
  std::int64_t value;
  bool exact;  ///< false where a fraction was rounded, half away from zero
};

/// `number` × `scale` in integers; nothing where it does not fit, or has more decimals than fractions are
/// exact for.
std::optional<Whole> to_whole(std::string_view number, std::int64_t scale) {
  const std::size_t point = std::min(number.find('.'), number.size());
  const std::string_view decimals = number.substr(std::min(point + 1, number.size()));
  if (decimals.size() > kMostDecimals) return std::nullopt;
  std::int64_t whole = 0;
  std::int64_t fraction = 0;
  if (std::from_chars(number.data(), number.data() + point, whole).ec != std::errc{}) return std::nullopt;
  std::from_chars(decimals.data(), decimals.data() + decimals.size(), fraction);
  if (whole > std::numeric_limits<std::int64_t>::max() / scale - 1) return std::nullopt;
  const std::int64_t one = power_of_ten(decimals.size());
  const std::int64_t part = fraction * scale;
  return Whole{whole * scale + (part + one / 2) / one, part % one == 0};
}

}  // namespace

Checked<Seconds> parse_seconds(std::string_view text) {
  const Checked<double> seconds = parse_quantity(text, kTime);
  if (!seconds) return seconds.error();
  if (*seconds > kLongestTime.count())
    return Complaint{fmt::format("{} is more than a year", in_quotes(text))};
  return Seconds{*seconds};
}

Checked<std::chrono::milliseconds> parse_milliseconds(std::string_view text) {
  const Checked<Amount> amount = split(text, kTime);
  if (!amount) return amount.error();
  const auto& [number, unit] = *amount;
  constexpr int kNanoseconds = 9;
  const auto nanoseconds =
      to_whole(number, unit.factor * power_of_ten(static_cast<std::size_t>(unit.exponent + kNanoseconds)));
  if (!nanoseconds) return Complaint{fmt::format("{} has too many digits", in_quotes(text))};
  constexpr std::int64_t kPerMillisecond = 1'000'000;
  if (!nanoseconds->exact || nanoseconds->value % kPerMillisecond != 0) {
    return Complaint{
        fmt::format("{} is finer than a millisecond; write whole milliseconds", in_quotes(text))};
  }
  return std::chrono::milliseconds{nanoseconds->value / kPerMillisecond};
}

Checked<Bytes> parse_bytes(std::string_view text) {
  const Checked<Amount> amount = split(text, kSize);
  if (!amount) return amount.error();
  const auto& [number, unit] = *amount;
  const auto bytes = to_whole(number, unit.factor * power_of_ten(static_cast<std::size_t>(unit.exponent)));
  if (!bytes) {
    return Complaint{
        fmt::format("{} is too large, or has more than {} decimals", in_quotes(text), kMostDecimals)};
  }
  return Bytes{bytes->value};
}

Checked<BytesPerSecond> parse_bandwidth(std::string_view text) {
  const Checked<double> rate = parse_quantity(text, kBandwidth);
  if (!rate) return rate.error();
  return BytesPerSecond{*rate};
}

Checked<FlopsPerSecond> parse_flops(std::string_view text) {
  const Checked<double> rate = parse_quantity(text, kFlops);
  if (!rate) return rate.error();
  return FlopsPerSecond{*rate};
}

Checked<double> parse_decimal(std::string_view text) {
  if (!is_decimal(text) || text.size() > kMostDigits) {
    return Complaint{fmt::format("{} is no plain decimal number; write it as 0.75", in_quotes(text))};
  }
  return to_double(text, 0);
}

namespace {

/// Takes fixed-width decimal fields and literal characters off the front of a text; remembers whether all
/// fitted.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  int number(std::size_t width) {
    const std::string_view digits = rest_.substr(0, width);
    good_ = good_ && digits.size() == width && std::ranges::all_of(digits, is_digit);
    if (!good_) return 0;
    int value = 0;
    std::from_chars(digits.data(), digits.data() + width, value);
    rest_.remove_prefix(width);
    return value;
  }

  bool accept(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) { good_ = accept(c) && good_; }

  std::chrono::nanoseconds fraction_of_second() {
    if (!accept('.')) return {};
    constexpr std::size_t kNanoDigits = 9;
    const auto end = std::ranges::find_if_not(rest_, is_digit);
    const std::string_view digits(rest_.begin(), end);
    good_ = good_ && !digits.empty() && digits.size() <= kNanoDigits;
    if (!good_) return {};
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    rest_.remove_prefix(digits.size());
    return std::chrono::nanoseconds{value * power_of_ten(kNanoDigits - digits.size())};
  }

  void require(bool condition) { good_ = good_ && condition; }
  bool done() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_{true};
};

std::chrono::minutes read_offset(FieldReader& in) {
  if (in.accept('Z')) return {};
  const bool west = in.accept('-');
  if (!west) in.expect('+');
  const int hours = in.number(2);
  in.expect(':');
  const int minutes = in.number(2);
  in.require(hours < 24 && minutes < 60);
  const auto offset = std::chrono::hours{hours} + std::chrono::minutes{minutes};
  return west ? -offset : offset;
}

}  // namespace

Checked<WallTime> parse_rfc3339(std::string_view text) {
  FieldReader in(text);
  const int year = in.number(4);
  in.expect('-');
  const int month = in.number(2);
  in.expect('-');
  const int day = in.number(2);
  in.expect('T');
  const int hour = in.number(2);
  in.expect(':');
  const int minute = in.number(2);
  in.expect(':');
  const int second = in.number(2);
  const auto fraction = in.fraction_of_second();
  const auto offset = read_offset(in);
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  in.require(date.ok() && year >= 1970 && year <= 2200 && hour < 24 && minute < 60 && second < 60);
  if (!in.done()) {
    return Complaint{
        fmt::format("{} is no RFC 3339 time; write it as \"2026-03-01T00:00:00Z\"", in_quotes(text))};
  }
  return WallTime{std::chrono::sys_days{date}} + std::chrono::hours{hour} + std::chrono::minutes{minute} +
         std::chrono::seconds{second} + fraction - offset;
}

}  // namespace fareway
