#include "placement/service_class.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fareway {
namespace {

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

}  // namespace

std::optional<Seconds> ServiceClass::ttft_target(Tokens prompt) const {
  if (!ttft) return std::nullopt;
  return *ttft + ttft_per_prompt_token * static_cast<double>(prompt.value);
}

std::optional<Seconds> ServiceClass::tpot_target(double output) const {
  if (!tpot) return std::nullopt;
  return *tpot * std::max(1.0, static_cast<double>(tpot_over.value) / std::max(output, 1.0));
}

std::optional<Seconds> ServiceClass::lateness(const ServedTimes& times) const {
  Seconds late{0};
  bool all_judged = true;
  const auto judge = [&](std::optional<Seconds> measured, Seconds target) {
    if (measured) {
      late = std::max(late, *measured - target);
    } else {
      all_judged = false;
    }
  };
  if (const auto target = ttft_target(times.prompt)) judge(times.ttft, *target);
  if (tpot) {
    const auto decoding = times.ttft ? std::optional(times.duration - *times.ttft) : std::nullopt;
    const auto counted =
        static_cast<double>(std::max(times.output.value_or(Tokens{0}).value - 1, tpot_over.value));
    judge(times.output ? decoding : std::nullopt, *tpot * counted);
  }
  if (deadline) judge(times.duration, *deadline);
  return all_judged || late > Seconds{0} ? std::optional(late) : std::nullopt;
}

Usd ServiceClass::miss_dollars(Seconds late) const {
  if (late <= Seconds{0}) return {};
  return miss + miss_per_second * late.count();
}

Seconds expected_lateness(Seconds target, Seconds predicted, double spread) {
  if (predicted <= Seconds{0}) return Seconds{0};
  if (target <= Seconds{0} || spread <= 0) return std::max(Seconds{0}, predicted - target);
  const double d = std::log(predicted / target) / spread;
  const Seconds late =
      predicted * (std::exp(spread * spread / 2) * normal_cdf(d + spread)) - target * normal_cdf(d);
  return std::max(Seconds{0}, late);
}

}  // namespace fareway
