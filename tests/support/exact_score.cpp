#include "tests/support/exact_score.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "placement/load.hpp"

namespace fareway::testing {
namespace {

/// Φ(ln(target/predicted)/spread): how probably the target is met.
double meets(std::optional<Seconds> target, Seconds predicted, double spread) {
  if (!target || predicted.count() <= 0) return 1;
  if (target->count() <= 0) return 0;
  return 0.5 * std::erfc(-std::log(*target / predicted) / (spread * std::numbers::sqrt2));
}

/// What is left of a target.
std::optional<Seconds> less(std::optional<Seconds> target, Seconds gone) {
  return target ? std::optional(*target - gone) : std::nullopt;
}

double share_left(const ReplicaLoad& load) {
  return 1 - std::min<double>(load.prefill_share, kLargestPrefillShare);
}

/// Prompts of others that wait, which are taken to be like the newcomer's.
double foreign_prompts(const RequestShape& request, const Replica& replica) {
  return static_cast<double>(replica.foreign_waiting) * static_cast<double>(request.prompt.value);
}

/// Waiting for someone to leave: the replica frees b sequences and K tokens in about remaining × step.
Seconds wait_for_room(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                      const ReplicaLoad& load) {
  const Deployment& deployment = fleet[replica.deployment];
  if (load.decoding <= 0) return Seconds{0};
  const Seconds turnover = load.mean_remaining.value_or(static_cast<double>(request.expected_output.value)) *
                           fleet.speed(replica).step(load.decoding, load.context);
  const double seats = replica.reading && replica.reading->seats ? *replica.reading->seats : deployment.seats;
  const double seats_short = std::max(0.0, load.decoding + load.queued + 1 - seats);
  const Tokens kv_tokens = replica.reading && replica.reading->kv_capacity
                               ? *replica.reading->kv_capacity
                               : deployment.capacity.longest_sequence();
  const double kv_short =
      std::max(0.0, load.context + load.queued_context + foreign_prompts(request, replica) +
                        static_cast<double>(request.prompt.value) - static_cast<double>(kv_tokens.value));
  const double for_memory = load.context > 0 ? kv_short / load.context : 0;
  return turnover * std::max(seats_short / load.decoding, for_memory);
}

}  // namespace

double miss_probability(const ServiceClass& service_class, const Course& course, const Spread& spread) {
  const Seconds end_to_end = course.ttft + course.tpot * course.output;
  const auto ttft_target = course.first_token_seen ? std::nullopt : service_class.ttft_target(course.prompt);
  const auto offset_target = ttft_target ? std::optional(*ttft_target + kTtftOffset) : std::nullopt;
  return 1 - meets(less(offset_target, course.waited), course.ttft + kTtftOffset, spread.ttft) *
                 meets(service_class.tpot_target(course.output), course.tpot, spread.tpot) *
                 meets(less(service_class.deadline, course.waited), end_to_end,
                       std::max(spread.ttft, spread.tpot));
}

Usd miss_dollars(const ServiceClass& service_class, const Course& course, const Spread& spread) {
  Seconds late{0};
  const auto ttft_target = service_class.ttft_target(course.prompt);
  if (ttft_target && !course.first_token_seen)
    late =
        expected_lateness(*ttft_target - course.waited + kTtftOffset, course.ttft + kTtftOffset, spread.ttft);
  if (const auto target = service_class.tpot_target(course.output))
    late =
        std::max(late, expected_lateness(*target * course.output, course.tpot * course.output, spread.tpot));
  if (service_class.deadline)
    late = std::max(late, expected_lateness(*service_class.deadline - course.waited,
                                            course.ttft + course.tpot * course.output,
                                            std::max(spread.ttft, spread.tpot)));
  return service_class.miss * miss_probability(service_class, course, spread) +
         service_class.miss_per_second * late.count();
}

Prediction exact_prediction(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                            Tokens cached, TimePoint now) {
  const Deployment& deployment = fleet[replica.deployment];
  const SpeedProfile& speed = fleet.speed(replica);
  const ReplicaLoad load = load_of(fleet, replica, now);
  const auto uncached = static_cast<double>((request.prompt - cached).value);
  const auto prompt = static_cast<double>(request.prompt.value);
  const double foreign = foreign_prompts(request, replica);

  const double chunk_room = std::max(1.0, static_cast<double>(deployment.chunk.value) - load.decoding);
  const double to_compute = load.queued_uncached + foreign + uncached;
  const double steps = std::ceil(to_compute / chunk_room);
  const Seconds mixed = speed.mixed_step(load.decoding, load.context, std::min(to_compute, chunk_room));
  const Seconds running = load.decoding > 0 ? speed.step(load.decoding, load.context) / 2 : Seconds{0};
  const Seconds ahead = std::max(load.prefill_behind, load.prefill_left) +
                        static_cast<double>(replica.foreign_waiting) * speed.prefill(prompt, 0);

  Prediction prediction;
  prediction.ttft = running + ahead + steps * mixed +
                    speed.prefill(uncached, static_cast<double>(cached.value)) +
                    wait_for_room(request, fleet, replica, load);
  prediction.tpot =
      speed.step(load.decoding + load.queued + 1, load.context + load.queued_context + foreign + prompt) /
      share_left(load);
  prediction.miss_probability =
      miss_probability(fleet[request.service_class],
                       {.prompt = request.prompt,
                        .ttft = prediction.ttft,
                        .tpot = prediction.tpot,
                        .output = static_cast<double>(request.expected_output.value),
                        .waited = request.waited},
                       replica.errors[kind_of(request.service_class, request.prompt)]);
  return prediction;
}

Disturbance disturbance(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                        Tokens cached, TimePoint now) {
  const SpeedProfile& speed = fleet.speed(replica);
  const ReplicaLoad load = load_of(fleet, replica, now);
  const double sequences = load.decoding + load.queued;
  const double context = load.context + load.queued_context;
  return {.stall = speed.prefill(static_cast<double>((request.prompt - cached).value),
                                 static_cast<double>(cached.value)),
          .slower = (speed.step(sequences + 1, context + static_cast<double>(request.prompt.value)) -
                     speed.step(sequences, context)) /
                    share_left(load)};
}

Usd exact_others_miss(const RequestShape& request, const Fleet& fleet, const Replica& replica, Seconds stall,
                      Seconds slower, TimePoint now) {
  const ReplicaLoad load = load_of(fleet, replica, now);
  const Seconds pace = pace_of(fleet.speed(replica), load);
  Usd sum;
  for (const InFlight& q : replica.in_flight) {
    const ServiceClass& objective = fleet[q.service_class];
    const Spread& spread = replica.errors[kind_of(q.service_class, q.prompt)];
    const double remaining = q.remaining();
    const double tokens = static_cast<double>(q.generated.value) + remaining;
    const double together = std::min(remaining, static_cast<double>(request.expected_output.value));
    // What q has behind it is settled: its TTFT once the first token came, and the time it has decoded.
    Course course{.prompt = q.prompt, .ttft = q.predicted_ttft, .output = tokens, .waited = q.waited};
    Seconds decoded{0};
    if (q.first_token) {
      course.ttft = *q.first_token - q.arrived;
      course.first_token_seen = true;
      decoded = now - *q.first_token;
    }
    course.tpot = (decoded + remaining * pace) / tokens;
    const Usd without = miss_dollars(objective, course, spread);
    course.tpot += (stall + together * slower) / tokens;
    sum += miss_dollars(objective, course, spread) - without;
  }
  return sum;
}

Score exact_score(const RequestShape& request, const Fleet& fleet, const Replica& replica, Tokens cached,
                  TimePoint now) {
  const Seconds added = fleet.speed(replica).added_work(static_cast<double>((request.prompt - cached).value),
                                                        static_cast<double>(cached.value),
                                                        static_cast<double>(request.expected_output.value));
  const auto [stall, slower] = disturbance(request, fleet, replica, cached, now);
  const bool releasable = fleet[replica.pool].releasable();
  const Prediction prediction = exact_prediction(request, fleet, replica, cached, now);
  return {.gpu = releasable ? to_usd_per_hour(fleet.group_rate(replica)) * added : Usd{},
          .own_miss = miss_dollars(fleet[request.service_class],
                                   {.prompt = request.prompt,
                                    .ttft = prediction.ttft,
                                    .tpot = prediction.tpot,
                                    .output = static_cast<double>(request.expected_output.value),
                                    .waited = request.waited},
                                   replica.errors[kind_of(request.service_class, request.prompt)]),
          .others_miss = exact_others_miss(request, fleet, replica, stall, slower, now)};
}

}  // namespace fareway::testing
