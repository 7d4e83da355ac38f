#include "placement/speed/speed_answer.hpp"

#include <functional>

#include "placement/catalogue/measurements.hpp"
#include "placement/model/format_support.hpp"
#include "placement/speed/closed_loop.hpp"
#include "placement/speed/measured_curve.hpp"

namespace fareway {
namespace {

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

std::function<LoopReading(const ClosedLoop&)> loop_reader(const SpeedEstimate& estimate, bool speculative) {
  const std::function modelled = [profile = estimate.profile](const ClosedLoop& load) {
    return loaded_tpot(profile, load);
  };
  const MeasuredDeployment* measured = estimate.measured;
  if (measured == nullptr || measured->points.empty() || speculative) {
    return [modelled, most = estimate.most_concurrency,
            longest = estimate.longest_context](const ClosedLoop& load) {
      return LoopReading{
          .tpot = modelled(load),
          .extrapolated = most > 0 && (load.concurrency > most || load.input_tokens > longest)};
    };
  }
  return [modelled, curve = MeasuredCurve{measured->points}](const ClosedLoop& load) {
    const MeasuredCurve::Reading reading = curve.tpot(load, modelled);
    return LoopReading{.tpot = reading.tpot, .measured = true, .extrapolated = reading.extrapolated};
  };
}

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
  answer.loop = loop_reader(answer.estimate, deployment.speculation.has_value())(
      {.input_tokens = context, .output_tokens = kLoopOutputTokens, .concurrency = batch});
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
