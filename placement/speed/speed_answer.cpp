#include "placement/speed/speed_answer.hpp"

#include <functional>

#include "placement/catalogue/measurements.hpp"
#include "placement/model/format_support.hpp"
#include "placement/speed/closed_loop.hpp"
#include "placement/speed/measured_curve.hpp"

namespace fareway {
namespace {

/// TPOT under load: from measured points where this very deployment has some, else from the profile.
void read_loop(const ClosedLoop& load, bool speculative, SpeedAnswer& answer) {
  const SpeedEstimate& estimate = answer.estimate;
  const std::function beyond = [&](const ClosedLoop& at) { return loaded_tpot(estimate.profile, at); };
  const MeasuredDeployment* measured = estimate.measured;
  if (measured == nullptr || measured->points.empty() || speculative) {
    answer.loop_tpot = beyond(load);
    answer.extrapolated = estimate.most_concurrency > 0 && (load.concurrency > estimate.most_concurrency ||
                                                            load.input_tokens > estimate.longest_context);
    return;
  }
  const MeasuredCurve::Reading reading = MeasuredCurve{measured->points}.tpot(load, beyond);
  answer.loop_tpot = reading.tpot;
  answer.loop_measured = true;
  answer.extrapolated = reading.extrapolated;
}

/// What the text asks for, before speculation; an emulated format is slowed where no point has seen it.
SpeedEstimate plain_estimate(const NamedDeployment& deployment) {
  SpeedEstimate estimate = estimate_speed(deployment.placement());
  if (!estimate.format_in_points)
    estimate.profile =
        estimate.profile.slowed(format_verdict(*deployment.device, deployment.format).slowdown);
  return estimate;
}

/// Speculative decoding: by its measured gains where both they and the deployment's own speed are measured,
/// else by acceptance lengths.
void speculate(const NamedDeployment& deployment, SpeedEstimate& estimate) {
  if (!deployment.speculation) return;
  const MeasuredDeployment* measured = estimate.measured;
  const MeasuredSpeculation* gains =
      find_speculation(deployment.model->name, deployment.device->name, deployment.speculation_method);
  if (gains != nullptr && measured != nullptr && measured->stream && measured->aggregate) {
    use_stream_and_aggregate(measured->stream->value * gains->single_stream,
                             measured->aggregate->value * gains->aggregate, estimate.profile);
  } else {
    estimate.profile = with_speculation(estimate.profile, *deployment.speculation);
  }
}

}  // namespace

SpeedEstimate estimate_named(const NamedDeployment& deployment) {
  SpeedEstimate estimate = plain_estimate(deployment);
  speculate(deployment, estimate);
  return estimate;
}

SpeedAnswer answer_speed(const NamedDeployment& deployment, double context, double batch,
                         Bytes reserve_per_device) {
  SpeedAnswer answer{.estimate = plain_estimate(deployment)};
  answer.parts = step_parts(answer.estimate, batch, batch * context);
  speculate(deployment, answer.estimate);
  const SpeedProfile& profile = answer.estimate.profile;
  answer.tpot = profile.step(batch, batch * context);
  read_loop({.input_tokens = context, .output_tokens = kLoopOutputTokens, .concurrency = batch},
            deployment.speculation.has_value(), answer);
  answer.prefill = profile.prefill(context, 0);
  answer.cold_ttft = cold_ttft(profile, answer.estimate.first_token, context);
  const Capacity capacity = capacity_of(*deployment.model, *deployment.device, deployment.parallelism,
                                        {.weights = deployment.weights,
                                         .reserve_per_device = reserve_per_device,
                                         .kv_format = deployment.kv_format});
  answer.kv_pool = capacity.kv_pool;
  answer.sessions = capacity.sessions(Tokens{static_cast<std::int64_t>(context)});
  return answer;
}

}  // namespace fareway
