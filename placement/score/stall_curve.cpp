#include "placement/score/stall_curve.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "placement/score/lanes.hpp"

namespace fareway {
namespace {

constexpr auto kStalls = [] {
  std::array<float, StallCurve::kPoints> stalls{};
  for (std::size_t k = 0; k < stalls.size(); ++k) stalls[k] = stall_at(k);
  return stalls;
}();

constexpr Seconds kSoonest{1e-12};  // a target of nothing is never met

using Points = std::array<float, StallCurve::kPoints>;

/// What becomes of one request at each stall: the probability that it misses, and the seconds it is expected
/// to be late.
struct Outcome {
  Points miss{};
  Points late{};
};

/// One more target: `decoding` seconds and each stall on top against `target` seconds.
void meet(double target, double decoding, double spread, Outcome& outcome) {
  const auto log_target = static_cast<float>(std::log(std::max(target, 1e-12)));
  const auto base = static_cast<float>(decoding);
  const auto certainty = static_cast<float>(1 / spread);
  for (std::size_t k = 0; k < StallCurve::kPoints; ++k) {
    const float missed = lane_upper_tail((log_target - lane_log(base + kStalls[k])) * certainty);
    outcome.miss[k] += missed - missed * outcome.miss[k];
  }
}

/// The same for seconds late; the target missed most counts.
void be_late(double target, double decoding, double spread, Outcome& outcome) {
  const auto log_target = static_cast<float>(std::log(std::max(target, 1e-12)));
  const auto base = static_cast<float>(decoding);
  for (std::size_t k = 0; k < StallCurve::kPoints; ++k)
    outcome.late[k] = std::max(
        outcome.late[k], lane_lateness(log_target, lane_log(base + kStalls[k]), static_cast<float>(spread)));
}

}  // namespace

StallCurve& StallCurve::operator+=(const StallCurve& other) {
  for (std::size_t k = 0; k < kPoints; ++k) usd[k] += other.usd[k];
  usd_tokens += other.usd_tokens;
  return *this;
}

StallCurve& StallCurve::operator-=(const StallCurve& other) {
  for (std::size_t k = 0; k < kPoints; ++k) usd[k] -= other.usd[k];
  usd_tokens -= other.usd_tokens;
  return *this;
}

float StallCurve::at(float stall_seconds) const {
  // In units and one more, the grid's points are the floats whose mantissa is 1 or 1½: the leading bits of
  // the number are the point below, the others how far the stall is on the way to the next.
  constexpr int kOneMantissaBit = 22;
  constexpr std::uint32_t kRest = (1U << kOneMantissaBit) - 1;
  constexpr std::uint32_t kOne = std::bit_cast<std::uint32_t>(1.0F) >> kOneMantissaBit;
  constexpr float kJustBelowLast = 32'767.998F;  // 2^15 less the last bit
  // In this order no comparison is true of what is not a number: it reads as no stall, never beyond the end.
  const float units = std::min(kJustBelowLast, std::max(0.0F, stall_seconds) / kUnit + 1);
  const auto bits = std::bit_cast<std::uint32_t>(units);
  const std::size_t below = (bits >> kOneMantissaBit) - kOne;
  const float to_next =
      static_cast<float>(static_cast<std::int32_t>(bits & kRest)) / static_cast<float>(kRest + 1);
  return usd[below] + to_next * (usd[below + 1] - usd[below]);
}

StallCurve stall_curve(const InFlight& q, const ServiceClass& objective, const Spread& spread, Seconds pace,
                       TimePoint now) {
  const double remaining = q.remaining();
  const double tokens = static_cast<double>(q.generated.value) + remaining;
  const Seconds decoded = q.first_token ? Seconds{now - *q.first_token} : Seconds{0};
  const Seconds decoding = std::max(decoded, Seconds{0}) + remaining * pace;
  const Seconds ttft = q.first_token ? Seconds{*q.first_token - q.arrived} : q.predicted_ttft;

  Outcome outcome;
  double in_time_so_far = 1;
  if (const auto target = objective.ttft_target(q.prompt); target && !q.first_token && ttft.count() > 0) {
    const Seconds left = std::max(*target - q.waited + kTtftOffset, kSoonest);
    const Seconds predicted = ttft + kTtftOffset;
    in_time_so_far = 1 - lane_upper_tail(static_cast<float>(std::log(left / predicted) / spread.ttft));
    outcome.late.fill(static_cast<float>(expected_lateness(left, predicted, spread.ttft).count()));
  }
  const auto against = [&](double target, double seconds, double width) {
    meet(target, seconds, width, outcome);
    if (objective.miss_per_second.value > 0) be_late(target, seconds, width, outcome);
  };
  if (const auto target = objective.tpot_target(tokens))
    against(target->count() * tokens, decoding.count(), spread.tpot);
  if (objective.deadline)
    against((*objective.deadline - q.waited).count(), (ttft + decoding).count(),
            std::max(spread.ttft, spread.tpot));

  StallCurve curve;
  const auto worth = static_cast<float>(objective.miss.value * in_time_so_far);
  const auto worth_per_second = static_cast<float>(objective.miss_per_second.value);
  for (std::size_t k = 0; k < StallCurve::kPoints; ++k)
    curve.usd[k] =
        worth * (outcome.miss[k] - outcome.miss[0]) + worth_per_second * (outcome.late[k] - outcome.late[0]);
  curve.usd_tokens = curve.usd[StallCurve::kShortStall] * static_cast<float>(remaining);
  return curve;
}

}  // namespace fareway
