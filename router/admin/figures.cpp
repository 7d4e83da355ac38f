#include "router/admin/figures.hpp"

#include <cmath>

#include <fmt/format.h>

namespace fareway {

std::string dollars(double amount) {
  constexpr double kNothing = 1e-12;  // rounding, as in the decision itself
  if (std::abs(amount) < kNothing) return "$0";
  const std::string sign = amount < 0 ? "-" : "";
  const double size = std::abs(amount);
  if (size >= 1) return fmt::format("{}${:.2f}", sign, size);
  const int decimals = 2 - static_cast<int>(std::floor(std::log10(size)));
  std::string text = fmt::format("{}${:.{}f}", sign, size, decimals);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", share * 100, share < 0.1 ? 1 : 0);
}

std::string span_of(Seconds time) {
  constexpr double kMinute = 60;
  const double seconds = time.count();
  if (seconds >= 100 * kMinute) return fmt::format("{:.3g} h", seconds / (60 * kMinute));
  if (seconds >= 100) return fmt::format("{:.3g} min", seconds / kMinute);
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 0.1 ? fmt::format("{:.0f} ms", seconds * 1000) : fmt::format("{:.2g} ms", seconds * 1000);
}

std::string slow_down_text(const SlowDown& slow, const Fleet& fleet) {
  std::string than;
  if (slow.of_siblings) {
    than = fmt::format("{:.1f} times as long as its {} and ", *slow.of_siblings,
                       slow.siblings == 1 ? "sibling" : fmt::format("{} siblings", slow.siblings));
  }
  return fmt::format("{} takes {}{:.1f} times what its profile says to {} ({:.0f} observations, spread {})",
                     fleet[slow.replica].name, than, slow.of_profile, to_string(slow.phase),
                     slow.observations, percent(slow.spread));
}

}  // namespace fareway
