#include "adapters/engines/gates.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {

std::optional<double> gated_usage(double value) {
  if (!std::isfinite(value) || value < -0.01 || value > 1.5) return std::nullopt;
  return std::clamp(value, 0.0, 1.0);
}

std::optional<std::int64_t> gated_count(double value) {
  constexpr double kExactlyCountable = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value) || value < 0 || value > kExactlyCountable) return std::nullopt;
  return std::llround(value);
}

}  // namespace fareway
