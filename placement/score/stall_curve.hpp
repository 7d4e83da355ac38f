#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "placement/fleet.hpp"

namespace fareway {

/// Dollars of misses that a stall makes, tabulated over its length: for a request q in flight,
///
///     curve(d) = V_q·[P(q misses when d seconds are added to its decoding) − P(q misses as it is)],
///
/// with V_q times the probability replaced by dollars a second times the expected lateness where the class
/// pays by the second (both where it does both), and for a replica the sum over its requests. Curves add up,
/// so a replica's is kept by adding and subtracting those of requests that come and go, and routers that
/// share a replica could sum theirs.
///
/// Grid: no stall, then two points an octave, d = 2^-7·(2^j·{1, 3/2} − 1) s up to 256 s; straight lines
/// between them, level beyond. A curve rises, so what is read lies between the exact values at the two
/// nearest points: it is exact for a stall that differs by less than half from the true one, and usually far
/// less.
struct alignas(64) StallCurve {
  static constexpr std::size_t kPoints = 31;
  static constexpr float kUnit = 1.0F / 128;
  static constexpr std::size_t kShortStall = 6;  ///< 55 ms: the size of what a newcomer adds to others' steps

  std::array<float, kPoints> usd{};
  float usd_tokens{};  ///< Σ dollars of a short stall × tokens to go

  /// Tokens to go of those who suffer, each counted by the dollars that a short stall of it costs.
  float remaining() const { return usd_tokens / std::max(usd[kShortStall], 1e-30F); }

  StallCurve& operator+=(const StallCurve& other);
  StallCurve& operator-=(const StallCurve& other);
  float at(float stall_seconds) const;
};

/// Length of the stall that point `k` of a curve stands for, seconds.
constexpr float stall_at(std::size_t k) {
  const float octave = static_cast<float>(1U << (k / 2));
  return StallCurve::kUnit * (octave * (k % 2 == 0 ? 1.0F : 1.5F) - 1);
}

/// The curve of one request. What q has behind it is settled: its TTFT once the first token came, and the
/// time it has decoded; what is to come takes `pace` a token. A request whose first token is still to come
/// has the probability of its predicted TTFT behind it: who comes later does not delay it.
StallCurve stall_curve(const InFlight& q, const ServiceClass& objective, const Spread& spread, Seconds pace,
                       TimePoint now);

}  // namespace fareway
