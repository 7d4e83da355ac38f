#include "placement/score.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fareway {
namespace {

constexpr double kLargestPrefillShare = 0.85;

/// Φ(ln(target/predicted)/spread): how probably the target is met.
double meets(std::optional<Seconds> target, Seconds predicted, double spread) {
  if (!target) return 1;
  if (predicted.count() <= 0) return 1;
  if (target->count() <= 0) return 0;
  return 0.5 * std::erfc(-std::log(*target / predicted) / (spread * std::numbers::sqrt2));
}

double mean_remaining(const Replica& replica, double fallback) {
  double sum = 0;
  double count = 0;
  for (const InFlight& q : replica.in_flight) {
    if (!q.first_token) continue;
    sum += q.remaining();
    ++count;
  }
  return count > 0 ? sum / count : fallback;
}

/// Waiting for someone to leave: the replica frees b sequences and K tokens in about remaining × step.
Seconds wait_for_room(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                      const ReplicaLoad& load) {
  const Deployment& deployment = fleet[replica.deployment];
  if (load.decoding <= 0) return Seconds{0};
  const Seconds turnover = mean_remaining(replica, static_cast<double>(request.expected_output.value)) *
                           deployment.speed.step(load.decoding, load.context);

  const double seats = replica.reading && replica.reading->seats ? *replica.reading->seats : deployment.seats;
  const double seats_short = load.decoding + load.queued + 1 - seats;
  const Seconds for_seat = seats_short > 0 ? turnover * (seats_short / load.decoding) : Seconds{0};

  const Tokens kv_tokens = replica.reading && replica.reading->kv_capacity
                               ? *replica.reading->kv_capacity
                               : deployment.capacity.longest_sequence();
  const double kv_short = load.context + load.queued_context + static_cast<double>(request.prompt.value) -
                          static_cast<double>(kv_tokens.value);
  const Seconds for_memory =
      kv_short > 0 && load.context > 0 ? turnover * (kv_short / load.context) : Seconds{0};
  return std::max(for_seat, for_memory);
}

}  // namespace

double prefill_share(const Replica& replica, TimePoint now) {
  const double age = std::max(0.0, Seconds{now - replica.prefill_share_at}.count());
  return replica.prefill_share * std::exp(-age / kPrefillShareWindowSeconds);
}

ReplicaLoad load_of(const Fleet& fleet, const Replica& replica, Tokens typical_prompt, TimePoint now) {
  const Deployment& deployment = fleet[replica.deployment];
  ReplicaLoad load{.decoding = static_cast<double>(replica.foreign_running),
                   .context = replica.foreign_context};
  std::optional<TimePoint> oldest_queued;
  for (const InFlight& q : replica.in_flight) {
    if (q.first_token) {
      load.decoding += 1;
      load.context += q.context();
      continue;
    }
    const auto uncached = static_cast<double>((q.prompt - q.cached).value);
    load.queued += 1;
    load.queued_context += static_cast<double>(q.prompt.value);
    load.queued_uncached += uncached;
    load.queued_prefill += deployment.speed.prefill(uncached, static_cast<double>(q.cached.value)).count();
    if (!oldest_queued || q.arrived < *oldest_queued) oldest_queued = q.arrived;
  }
  // The oldest of the queue is being prefilled since it came; what it has behind it no longer delays anyone.
  if (oldest_queued)
    load.queued_prefill = std::max(0.0, load.queued_prefill - Seconds{now - *oldest_queued}.count());

  const auto waiting = static_cast<double>(replica.foreign_waiting);
  const auto typical = static_cast<double>(typical_prompt.value);
  load.queued += waiting;
  load.queued_context += waiting * typical;
  load.queued_uncached += waiting * typical;
  load.queued_prefill += waiting * deployment.speed.prefill(typical, 0).count();

  load.prefill_share = std::min(prefill_share(replica, now), kLargestPrefillShare);
  return load;
}

Prediction predict(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                   const ReplicaLoad& load, Tokens cached) {
  const Deployment& deployment = fleet[replica.deployment];
  const SpeedProfile& speed = deployment.speed;
  const auto uncached = static_cast<double>((request.prompt - cached).value);
  const auto prompt = static_cast<double>(request.prompt.value);

  const double chunk_room = std::max(1.0, static_cast<double>(deployment.chunk.value) - load.decoding);
  const double to_compute = load.queued_uncached + uncached;
  const double steps = std::ceil(to_compute / chunk_room);
  const Seconds mixed = speed.mixed_step(load.decoding, load.context, std::min(to_compute, chunk_room));
  const Seconds running = load.decoding > 0 ? speed.step(load.decoding, load.context) / 2 : Seconds{0};

  Prediction prediction;
  prediction.ttft = running + Seconds{load.queued_prefill} + steps * mixed +
                    speed.prefill(uncached, static_cast<double>(cached.value)) +
                    wait_for_room(request, fleet, replica, load);
  prediction.tpot = speed.step(load.decoding + load.queued + 1, load.context + load.queued_context + prompt) /
                    (1 - load.prefill_share);
  prediction.miss_probability =
      miss_probability(fleet[request.service_class],
                       {.prompt = request.prompt,
                        .ttft = prediction.ttft,
                        .tpot = prediction.tpot,
                        .output = static_cast<double>(request.expected_output.value)},
                       replica.errors);
  return prediction;
}

double miss_probability(const ServiceClass& service_class, const Course& course,
                        const PredictionErrors& errors) {
  const Seconds end_to_end = course.ttft + course.tpot * course.output;
  const auto ttft_target =
      course.first_token == FirstToken::kSeen ? std::nullopt : service_class.ttft_target(course.prompt);
  return 1 - meets(ttft_target, course.ttft, errors.ttft) *
                 meets(service_class.tpot, course.tpot, errors.tpot) *
                 meets(service_class.deadline, end_to_end, std::max(errors.ttft, errors.tpot));
}

Usd gpu_dollars(const Fleet& fleet, const Replica& replica, Seconds added_work) {
  if (!fleet[replica.pool].releasable()) return {};
  return to_usd_per_hour(fleet.group_rate(replica)) * added_work;
}

Usd others_miss_dollars(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                        const ReplicaLoad& load, Tokens cached, TimePoint now) {
  const SpeedProfile& speed = fleet[replica.deployment].speed;
  const auto uncached = static_cast<double>((request.prompt - cached).value);
  const Seconds stall = speed.prefill(uncached, static_cast<double>(cached.value));
  const double sequences = load.decoding + load.queued;
  const double context = load.context + load.queued_context;
  const double share_left = 1 - load.prefill_share;
  const Seconds step = speed.step(sequences, context) / share_left;
  const Seconds slower =
      speed.step(sequences + 1, context + static_cast<double>(request.prompt.value)) / share_left - step;

  Usd sum;
  for (const InFlight& q : replica.in_flight) {
    const ServiceClass& objective = fleet[q.service_class];
    const double remaining = q.remaining();
    const double tokens = static_cast<double>(q.generated.value) + remaining;
    const double together = std::min(remaining, static_cast<double>(request.expected_output.value));
    // What q has behind it is settled: its TTFT once the first token came, and the time it has decoded.
    Course course{.prompt = q.prompt, .ttft = q.predicted_ttft, .output = tokens};
    Seconds decoded{0};
    Seconds delay = together * slower;
    if (q.first_token) {
      course.ttft = *q.first_token - q.arrived;
      course.first_token = FirstToken::kSeen;
      decoded = now - *q.first_token;
      delay += stall;
    }
    course.tpot = (decoded + remaining * step) / tokens;
    const double without = miss_probability(objective, course, replica.errors);
    course.tpot += delay / tokens;
    const double with = miss_probability(objective, course, replica.errors);
    sum += objective.miss * std::max(0.0, with - without);
  }
  return sum;
}

}  // namespace fareway
