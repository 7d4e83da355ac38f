#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace fareway {

/// A number that remembers its unit. Mixing units does not compile.
template <class Tag, class Rep = double>
struct Quantity {
  using Representation = Rep;
  Rep value{};

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { return value += other.value, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value -= other.value, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator-(Quantity a) { return {-a.value}; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return {a.value * factor}; }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return {factor * a.value}; }
};

/// Length of time in models and metrics. Deadlines and configuration use integral chrono types.
using Seconds = std::chrono::duration<double>;
/// An instant of the monotonic clock. Only adapters and the router read that clock; here it is a value.
using TimePoint = std::chrono::steady_clock::time_point;
/// An instant of the calendar, to the nanosecond; for rows, price schedules and people.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

using Tokens = Quantity<struct TokensTag, std::int64_t>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;
using TokensPerSecond = Quantity<struct TokensPerSecondTag>;

/// Dollars for scoring and planning. Money that is charged is `NanoUsd`.
using Usd = Quantity<struct UsdTag>;
using UsdPerHour = Quantity<struct UsdPerHourTag>;
using UsdPerMTok = Quantity<struct UsdPerMTokTag>;

/// Billionths of a dollar: money that is charged, exact under addition. Range about ±9.2 billion dollars.
using NanoUsd = Quantity<struct NanoUsdTag, std::int64_t>;
using NanoUsdPerHour = Quantity<struct NanoUsdPerHourTag, std::int64_t>;
/// List prices: nanodollars for a million tokens.
using NanoUsdPerMTok = Quantity<struct NanoUsdPerMTokTag, std::int64_t>;

inline constexpr std::int64_t kNanoPerUsd = 1'000'000'000;
inline constexpr double kSecondsPerHour = 3600.0;
inline constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

// Only conversions that mean something exist.
constexpr Usd operator*(UsdPerHour rate, Seconds time) {
  return {rate.value * time.count() / kSecondsPerHour};
}
constexpr UsdPerMTok operator/(UsdPerHour rate, TokensPerSecond goodput) {
  return {rate.value / (goodput.value * kSecondsPerHour) * 1e6};
}
constexpr Usd to_usd(NanoUsd money) {
  return {static_cast<double>(money.value) / static_cast<double>(kNanoPerUsd)};
}
constexpr UsdPerHour to_usd_per_hour(NanoUsdPerHour rate) {
  return {static_cast<double>(rate.value) / static_cast<double>(kNanoPerUsd)};
}

}  // namespace fareway
