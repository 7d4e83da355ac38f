#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace fareway {

/// Candidates are weighed sixteen at a time: loops over `kLanes` with nothing but arithmetic in them, which
/// the compiler turns into vector instructions (two of AVX2, four of SSE). Single precision is enough:
/// predictions err by per cent, and what must be exact (constraints, money that is charged) is not computed
/// here.
inline constexpr std::size_t kLanes = 16;

template <class T>
struct alignas(64) Lanes : std::array<T, kLanes> {};
using FloatLanes = Lanes<float>;

// The functions below have no branches. Coefficients: Chebyshev fits of our own; the errors stated are
// those of single precision, and tests/unit/placement/lanes_test.cpp measures them.

/// e^x, relative error below 4e-6; x is taken into [-87, 87].
inline float lane_exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kRoundToInteger = 12'582'912.0F;  // 1.5 · 2^23: what is left of the point does not fit
  const float power = std::min(std::max(x, -87.0F), 87.0F) * kLog2E;
  const float whole = (power + kRoundToInteger) - kRoundToInteger;
  const float rest = power - whole;  // in [-1/2, 1/2]
  const float fraction =
      1.00000008F +
      rest * (0.693147207F + rest * (0.240221074F + rest * (0.0555032721F +
                                                            rest * (0.0096760371F + rest * 0.00134004322F))));
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(fraction) +
                              (static_cast<std::int32_t>(whole) << 23));
}

/// ln x, absolute error below 2e-7 · (1 + |ln x|); x below 1e-30 counts as 1e-30.
inline float lane_log(float x) {
  constexpr std::int32_t kHalfRoot = 0x3f3504f3;  // √½: the mantissa is taken into [√½, √2)
  constexpr float kLn2 = 0.693147181F;
  const auto bits = std::bit_cast<std::int32_t>(std::max(x, 1e-30F));
  const std::int32_t exponent = (bits - kHalfRoot) >> 23;
  const float u = std::bit_cast<float>(bits - (exponent << 23)) - 1;
  const float series =
      0.999999943F +
      u * (-0.500003631F +
           u * (0.333351141F +
                u * (-0.249700717F +
                     u * (0.19898565F + u * (-0.172470133F + u * (0.162341898F + u * -0.101340568F))))));
  return static_cast<float>(exponent) * kLn2 + u * series;
}

/// 1 − Φ(z), the probability that a standard normal lies above z: relative error below 1e-5 for 0 ≤ z ≤ 12,
/// absolute below 1e-6 for negative z; beyond ±12 as at ±12. e^(−z²/2)·t·p(t) with t = 1/(1 + 0.36·|z|).
inline float lane_upper_tail(float z) {
  const float size = std::min(std::max(z, -z), 12.0F);
  const float t = 1 / (1 + 0.36F * size);
  const float mills =
      t * (0.143720572F +
           t * (0.141666376F +
                t * (0.140305474F +
                     t * (0.024918482F + t * (0.183371721F + t * (-0.18158307F + t * 0.0476007026F))))));
  const float tail = mills * lane_exp(-0.5F * size * size);
  return z < 0 ? 1 - tail : tail;
}

/// `expected_lateness` (placement/service_class.hpp): E[max(0, X − target)], X log-normal around `predicted`,
/// with the logarithms of both and a spread above 0. Error below 1e-5 of the larger of both.
inline float lane_lateness(float log_target, float log_predicted, float spread) {
  const float d = (log_predicted - log_target) / spread;
  const float late = lane_exp(log_predicted + spread * spread / 2) * lane_upper_tail(-d - spread) -
                     lane_exp(log_target) * lane_upper_tail(-d);
  return std::max(late, 0.0F);
}

}  // namespace fareway
