#include "placement/score/ask.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/load.hpp"

namespace fareway {
namespace {

constexpr double kSoonest = 1e-12;  // seconds; a target of nothing is never met

/// `gone`: what is over of it already.
std::optional<float> log_of(std::optional<Seconds> target, Seconds gone = {}) {
  if (!target) return std::nullopt;
  return static_cast<float>(std::log(std::max((*target - gone).count(), kSoonest)));
}

std::optional<Seconds> offset(std::optional<Seconds> ttft_target) {
  if (ttft_target) *ttft_target += kTtftOffset;
  return ttft_target;
}

}  // namespace

std::int32_t saturated(Tokens tokens) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(tokens.value, 0, std::numeric_limits<std::int32_t>::max()));
}

Ask ask_of(const RequestShape& request, const ServiceClass& service_class, Seconds since_epoch) {
  since_epoch =
      std::max(since_epoch, Seconds{0});  // a clock that went back makes nothing of before it undone
  return {.prompt = static_cast<float>(request.prompt.value),
          .output = static_cast<float>(request.expected_output.value),
          .context_needed = saturated(request.context_needed()),
          .kind = kind_of(request.service_class, request.prompt),
          .log_ttft_target = log_of(offset(service_class.ttft_target(request.prompt)), request.waited),
          .log_tpot_target =
              log_of(service_class.tpot_target(static_cast<double>(request.expected_output.value))),
          .log_deadline = log_of(service_class.deadline, request.waited),
          .miss_usd = static_cast<float>(service_class.miss.value),
          .miss_usd_per_second = static_cast<float>(service_class.miss_per_second.value),
          .since_epoch = static_cast<float>(since_epoch.count()),
          .share_fade = static_cast<float>(std::exp(-since_epoch.count() / kPrefillShareWindowSeconds))};
}

}  // namespace fareway
