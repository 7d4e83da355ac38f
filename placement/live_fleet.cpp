#include "placement/live_fleet.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

#include "placement/load.hpp"

namespace fareway {
namespace {

constexpr std::int64_t kTokensToJudgeTpot = 16;
constexpr double kUnknownForeignContext = 1024;
constexpr Seconds kLongestEpoch{60};
constexpr double kFewestTokensToLearn = 8;   // in one tick; fewer say more of buffers than of steps
constexpr double kMostPrefillToLearn = 0.1;  // share of a tick with prompts to compute; more blurs its steps
constexpr Seconds kLongestRun{10};           // of prefill, where the queue does not run empty
constexpr double kFewestStepsToLearn = 2;    // of a queue that ran empty before

/// Share of the replica's time the request is expected to take while it stays: seconds of work it adds over
/// seconds it stays, in millionths.
Meter::Weight meter_weight(const Candidate& candidate, Tokens output) {
  const Seconds stay =
      candidate.prediction.ttft + candidate.prediction.tpot * static_cast<double>(output.value);
  if (stay.count() <= 0) return 1;
  constexpr double kMillion = 1e6;
  return static_cast<Meter::Weight>(std::clamp(candidate.added_work / stay * kMillion, 1.0, kMillion));
}

}  // namespace

LiveFleet::LiveFleet(Fleet fleet, PriceBook prices, TimePoint now, WallTime wall_now)
    : fleet_(std::move(fleet)),
      prices_(std::move(prices)),
      estimates_(fleet_.models.size(), fleet_.classes.size()),
      table_(fleet_, now),
      suffering_(fleet_.replicas.size()),
      prefills_(fleet_.replicas.size()),
      slots_(fleet_.replicas.size()) {
  ticked_at_ = now;
  fleet_.rule_in_flight.assign(fleet_.rules.rules().size(), 0);
  for (std::uint32_t i = 0; i < fleet_.pools.size(); ++i)
    fleet_.pools[i].per_device_hour = prices_.price(PoolIndex{i}, wall_now);
  for (std::uint32_t i = 0; i < fleet_.replicas.size(); ++i) {
    Replica& replica = fleet_.replicas[i];
    replica.read_at = replica.prefill_share_at = now;
    meters_.emplace_back(fleet_.group_rate(replica), now);
    for (std::uint32_t position = 0; position < replica.in_flight.size(); ++position) {
      replica.in_flight[position].slot = position;
      slots_[i].position.push_back(position);
    }
    renew({i}, now);
  }
}

Choice LiveFleet::choose(const RequestShape& shape, std::span<const ReplicaIndex> excluded, TimePoint now) {
  return fareway::choose(shape, fleet_, table_, excluded, now, scratch_);
}

Decision LiveFleet::decide(const RequestShape& shape, std::span<const ReplicaIndex> excluded, TimePoint now) {
  return fareway::decide(shape, fleet_, table_, excluded, now, scratch_);
}

PromptEstimate LiveFleet::estimate_prompt(ModelIndex model, const PromptContent& content) const {
  return estimates_.prompt(model, content);
}

Tokens LiveFleet::estimate_output(const AnswerKind& kind, std::optional<Tokens> limit) const {
  return estimates_.answers().expected(kind, limit);
}

Flight LiveFleet::begin(const RequestShape& shape, const Candidate& candidate, TimePoint now) {
  Replica& replica = fleet_.replicas.at(candidate.replica.value);
  Slots& slots = slots_[candidate.replica.value];
  const SpeedProfile& speed = fleet_.speed(replica);
  const Seconds prefill = speed.prefill(static_cast<double>((shape.prompt - candidate.cached).value),
                                        static_cast<double>(candidate.cached.value));
  replica.prefill_share = prefill_share(replica, now) + prefill.count() / kPrefillShareWindowSeconds;
  replica.prefill_share_at = now;
  fleet_.prefixes.hold(candidate.replica, shape, Tokens{0});

  const std::uint64_t id = next_flight_++;
  if (slots.free.empty()) {
    slots.free.push_back(static_cast<std::uint32_t>(slots.position.size()));
    slots.position.push_back(0);
  }
  const std::uint32_t slot = slots.free.back();
  slots.free.pop_back();
  slots.position[slot] = static_cast<std::uint32_t>(replica.in_flight.size());
  replica.in_flight.push_back({.id = id,
                               .slot = slot,
                               .service_class = shape.service_class,
                               .tenant = shape.tenant,
                               .arrived = now,
                               .prompt = shape.prompt,
                               .cached = candidate.cached,
                               .expected_output = static_cast<double>(shape.expected_output.value),
                               .generated = {},
                               .first_token = {},
                               .output_limit = shape.output_limit,
                               .judged = {},
                               .ticked = {},
                               .streamed = shape.streamed,
                               .waited = shape.waited,
                               .predicted_prefill = prefill,
                               .predicted_ttft = candidate.prediction.ttft,
                               .predicted_tpot = candidate.prediction.tpot});
  count_for_caps(shape, replica.pool, 1);
  const Seconds pace = refresh(candidate.replica, now);
  suffering_[candidate.replica.value].added(fleet_, replica, pace, now);
  table_.set_curve(candidate.replica, suffering_[candidate.replica.value].sum());
  const Meter::Weight weight = meter_weight(candidate, shape.expected_output);
  return {id, candidate.replica, slot, meters_[candidate.replica.value].begin(weight, now)};
}

void LiveFleet::first_token(const Flight& flight, TimePoint now) {
  const std::optional<std::size_t> position = position_of(flight);
  if (!position) return;
  Replica& replica = fleet_.replicas[flight.replica.value];
  InFlight& entry = replica.in_flight[*position];
  if (entry.first_token) return;
  entry.first_token = replica.prefill_ended = now;
  saw_ttft(replica.errors[kind_of(entry.service_class, entry.prompt)], entry.predicted_ttft,
           now - entry.arrived);
  learn_prefill(flight.replica, entry, now);
  const Seconds pace = refresh(flight.replica, now);
  suffering_[flight.replica.value].changed(fleet_, replica, *position, pace, now);
  table_.set_curve(flight.replica, suffering_[flight.replica.value].sum());
}

void LiveFleet::generated(const Flight& flight, Tokens more) {
  if (const auto position = position_of(flight))
    fleet_.replicas[flight.replica.value].in_flight[*position].generated += more;
}

NanoUsd LiveFleet::end(const Flight& flight, const RequestShape& shape,
                       const std::optional<TokenUsage>& usage, bool completed, TimePoint now) {
  Replica& replica = fleet_.replicas.at(flight.replica.value);
  const std::optional<std::size_t> position = position_of(flight);
  if (position && completed && usage) {
    const InFlight& entry = replica.in_flight[*position];
    estimates_.saw_prompt(shape.model, shape.content, usage->prompt);
    estimates_.saw_answer({shape.tenant, shape.model, shape.service_class}, usage->completion);
    if (entry.streamed && entry.first_token && usage->completion.value >= kTokensToJudgeTpot)
      saw_tpot(replica.errors[kind_of(entry.service_class, entry.prompt)], entry.predicted_tpot,
               Seconds{now - *entry.first_token} / static_cast<double>(usage->completion.value - 1));
    RequestShape held = shape;
    held.prompt = usage->prompt;
    fleet_.prefixes.hold(flight.replica, held, usage->completion);
  }
  if (position) {
    if (!replica.in_flight[*position].first_token) prefills_[flight.replica.value].spoil();
    take_out(flight.replica, *position);
    count_for_caps(shape, replica.pool, -1);
    const Seconds pace = refresh(flight.replica, now);
    suffering_[flight.replica.value].removed(fleet_, replica, *position, pace, now);
    table_.set_curve(flight.replica, suffering_[flight.replica.value].sum());
  }
  return meters_[flight.replica.value].end(flight.ticket, now);
}

void LiveFleet::apply(ReplicaIndex index, const LoadReading& reading, TimePoint began, TimePoint now) {
  Replica& replica = fleet_.replicas.at(index.value);
  const bool restarted = replica.reading && replica.reading->generated_tokens && reading.generated_tokens &&
                         *reading.generated_tokens < *replica.reading->generated_tokens;
  const bool updated = replica.reading && replica.reading->version && reading.version &&
                       *reading.version != *replica.reading->version;
  if (restarted) fleet_.prefixes.clear(index);
  if (restarted || updated) replica.correction.doubt();
  replica.reading = reading;
  replica.read_at = now;
  replica.health.probe_succeeded(began, now);

  // What the engine reports beyond our own requests belongs to somebody else. Ours that began after the
  // question was sent are not in the answer.
  std::int64_t own = 0;
  double own_context = 0;
  for (const InFlight& entry : replica.in_flight) {
    if (entry.arrived >= began) continue;
    ++own;
    own_context += entry.context();
  }
  const std::int64_t running = reading.running.value_or(0);
  const std::int64_t waiting = reading.waiting.value_or(0);
  const std::int64_t foreign = std::max<std::int64_t>(0, running + waiting - own);
  replica.foreign_waiting = std::min(foreign, waiting);
  replica.foreign_running = foreign - replica.foreign_waiting;
  const Tokens kv_tokens =
      reading.kv_capacity.value_or(fleet_[replica.deployment].capacity.longest_sequence());
  const double by_usage = reading.kv_usage
                              ? *reading.kv_usage * static_cast<double>(kv_tokens.value) - own_context
                              : static_cast<double>(replica.foreign_running) * kUnknownForeignContext;
  replica.foreign_context = replica.foreign_running > 0 ? std::max(0.0, by_usage) : 0;
  renew(index, now);
}

void LiveFleet::probe_succeeded(ReplicaIndex replica, TimePoint began, TimePoint now) {
  fleet_.replicas.at(replica.value).health.probe_succeeded(began, now);
  refresh(replica, now);
}

void LiveFleet::probe_failed(ReplicaIndex replica, std::string_view reason, TimePoint now) {
  fleet_.replicas.at(replica.value).health.probe_failed(reason, now);
  refresh(replica, now);
}

void LiveFleet::connection_failed(ReplicaIndex index, TimePoint now) {
  Replica& replica = fleet_.replicas.at(index.value);
  replica.health.connection_failed(now);
  fleet_.prefixes.clear(index);  // nobody listens: when the engine is back, its cache is empty
  refresh(index, now);
}

void LiveFleet::answer_succeeded(ReplicaIndex replica) {
  fleet_.replicas.at(replica.value).health.answer_succeeded();
}

void LiveFleet::answer_failed(ReplicaIndex replica, TimePoint now) {
  fleet_.replicas.at(replica.value).health.answer_failed(now);
  refresh(replica, now);
}

void LiveFleet::set_draining(ReplicaIndex replica, bool draining, TimePoint now) {
  fleet_.replicas.at(replica.value).draining = draining;
  refresh(replica, now);
}

void LiveFleet::tick(TimePoint now, WallTime wall_now) {
  for (std::uint32_t i = 0; i < fleet_.pools.size(); ++i)
    fleet_.pools[i].per_device_hour = prices_.price(PoolIndex{i}, wall_now);
  for (std::size_t i = 0; i < meters_.size(); ++i)
    meters_[i].set_rate(fleet_.group_rate(fleet_.replicas[i]), now);
  assume_progress(now);
  for (std::uint32_t i = 0; i < fleet_.replicas.size(); ++i) {
    learn_pace({i}, now);
    expect_remaining(fleet_.replicas[i]);
  }
  ticked_at_ = now;
  table_.refresh_all(fleet_, now);
  for (std::uint32_t i = 0; i < fleet_.replicas.size(); ++i) renew({i}, now);
}

void LiveFleet::assume_progress(TimePoint now) {
  for (Replica& replica : fleet_.replicas) {
    for (InFlight& entry : replica.in_flight) {
      const Seconds decoded = Seconds{now - entry.arrived} - entry.predicted_ttft;
      if (entry.streamed || decoded.count() < 0) continue;
      const TimePoint first_token = now - std::chrono::duration_cast<TimePoint::duration>(decoded);
      if (!entry.first_token) replica.prefill_ended = std::max(replica.prefill_ended, first_token);
      entry.first_token = first_token;
      if (entry.predicted_tpot.count() > 0) entry.generated = {std::llround(decoded / entry.predicted_tpot)};
    }
  }
}

/// How long a step took since the last tick: the streams that decoded all the time, over the tokens they got.
/// Only where hardly a prompt was computed meanwhile: what stalls streams is not how slowly they decode.
void LiveFleet::learn_pace(ReplicaIndex index, TimePoint now) {
  Replica& replica = fleet_.replicas[index.value];
  double streams = 0;
  double tokens = 0;
  for (InFlight& entry : replica.in_flight) {
    const bool all_the_time = entry.streamed && entry.first_token && *entry.first_token <= ticked_at_;
    const Tokens since = entry.generated - entry.ticked;
    entry.ticked = entry.generated;
    if (!all_the_time || entry.generated <= Tokens{0}) continue;
    streams += 1;
    tokens += static_cast<double>(since.value);
  }
  const Seconds prefilled = prefills_[index.value].take_busy(now);
  const Seconds elapsed = now - ticked_at_;
  if (tokens < kFewestTokensToLearn || elapsed <= Seconds{0} || elapsed > kLongestEpoch) return;
  if (prefilled > kMostPrefillToLearn * elapsed) return;
  const ReplicaLoad load = load_of(fleet_, replica, now);
  const Seconds step = (elapsed - prefilled) * (streams / tokens);
  const SpeedProfile& profile = fleet_[replica.deployment].speed;
  replica.correction.saw_step(profile, load.decoding, load.context, step);
  replica.speed = replica.correction.applied_to(profile);
}

/// From the time in which the replica worked through its queue of prompts, less what its steps took for those
/// who decode.
void LiveFleet::learn_prefill(ReplicaIndex index, const InFlight& entry, TimePoint now) {
  Replica& replica = fleet_.replicas[index.value];
  PrefillWatch& watch = prefills_[index.value];
  if (!entry.streamed || replica.foreign_waiting > 0) watch.spoil();
  const Deployment& deployment = fleet_[replica.deployment];
  const ReplicaLoad load = load_of(fleet_, replica, now);
  const SpeedProfile& speed = fleet_.speed(replica);
  const Seconds step = speed.step(load.decoding - 1, load.context - entry.context());
  const double chunk_room = static_cast<double>(deployment.chunk.value) - load.decoding;
  watch.computed(static_cast<double>((entry.prompt - entry.cached).value),
                 static_cast<double>(entry.cached.value), step, chunk_room, now);

  const PrefillRun& so_far = watch.so_far();
  const Seconds work{speed.per_prompt_token * so_far.tokens + speed.per_prompt_pair * so_far.pairs};
  const bool emptied = load.queued <= 0;
  if (!emptied && work < kLongestRun) return;
  const std::optional<PrefillRun> run = watch.take(now);
  if (!run || work < kFewestStepsToLearn * step) return;
  const Seconds mixed_step =
      speed.mixed_step(load.decoding - 1, load.context - entry.context(), run->tokens / run->steps);
  const Seconds waited = run->from_idle && load.decoding > 1 ? step / 2 : Seconds{0};
  replica.correction.saw_prefill(deployment.speed, run->tokens, run->pairs,
                                 run->lasted - waited - run->steps * mixed_step);
  replica.speed = replica.correction.applied_to(deployment.speed);
}

/// What an answer has still to come changes with what came; worth working out anew for every tenth more of
/// it.
void LiveFleet::expect_remaining(Replica& replica) {
  const ModelIndex model = fleet_[replica.deployment].model;
  for (InFlight& entry : replica.in_flight) {
    if (entry.generated.value * 10 <= entry.judged.value * 11) continue;
    const auto seen = static_cast<double>(entry.generated.value);
    const AnswerKind kind{entry.tenant, model, entry.service_class};
    entry.expected_output = seen + estimates_.answers().remaining(kind, seen, entry.output_limit);
    entry.judged = entry.generated;
  }
}

std::optional<std::size_t> LiveFleet::position_of(const Flight& flight) const {
  const auto& in_flight = fleet_.replicas.at(flight.replica.value).in_flight;
  const std::uint32_t position = slots_[flight.replica.value].position.at(flight.slot);
  if (position >= in_flight.size() || in_flight[position].id != flight.id) return std::nullopt;
  return position;
}

void LiveFleet::take_out(ReplicaIndex replica, std::size_t position) {
  auto& in_flight = fleet_.replicas[replica.value].in_flight;
  Slots& slots = slots_[replica.value];
  slots.free.push_back(in_flight[position].slot);
  in_flight[position] = in_flight.back();
  slots.position[in_flight[position].slot] = static_cast<std::uint32_t>(position);
  in_flight.pop_back();
}

void LiveFleet::count_for_caps(const RequestShape& shape, PoolIndex pool, std::int32_t by) {
  for (RuleMask caps = fleet_.rules.capped(shape.rules, pool); caps != 0; caps &= caps - 1)
    fleet_.rule_in_flight[static_cast<std::size_t>(std::countr_zero(caps))] += static_cast<std::uint32_t>(by);
}

/// Takes the replica's load over into the table and returns its pace.
Seconds LiveFleet::refresh(ReplicaIndex index, TimePoint now) {
  const Seconds age = table_.since_epoch(now);
  if (age > kLongestEpoch || age < Seconds{0}) table_.refresh_all(fleet_, now);
  const Replica& replica = fleet_[index];
  const ReplicaLoad load = load_of(fleet_, replica, now);
  prefills_[index.value].queue_is(load.queued <= 0, now);
  table_.refresh(fleet_, index, load, now);
  return pace_of(fleet_.speed(replica), load);
}

/// The same, and what its requests would suffer is worked out from how far they are.
void LiveFleet::renew(ReplicaIndex index, TimePoint now) {
  Suffering& suffering = suffering_[index.value];
  suffering.renew(fleet_, fleet_[index], refresh(index, now), now);
  table_.set_curve(index, suffering.sum());
}

}  // namespace fareway
