#include "placement/live_fleet.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "placement/score.hpp"

namespace fareway {
namespace {

constexpr std::int64_t kTokensToJudgeTpot = 16;
constexpr double kUnknownForeignContext = 1024;

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
      estimates_(fleet_.models.size(), fleet_.classes.size()) {
  for (std::uint32_t i = 0; i < fleet_.pools.size(); ++i)
    fleet_.pools[i].per_device_hour = prices_.price(PoolIndex{i}, wall_now);
  for (Replica& replica : fleet_.replicas) {
    replica.read_at = replica.prefill_share_at = now;
    meters_.emplace_back(fleet_.group_rate(replica), now);
  }
}

Tokens LiveFleet::estimate_prompt(ModelIndex model, std::size_t bytes) const {
  return estimates_.prompt(model, bytes);
}

Tokens LiveFleet::estimate_output(ModelIndex model, ClassIndex service_class,
                                  std::optional<Tokens> limit) const {
  return estimates_.output(model, service_class, limit);
}

Flight LiveFleet::begin(const RequestShape& shape, const Candidate& candidate, TimePoint now) {
  Replica& replica = fleet_.replicas.at(candidate.replica.value);
  const SpeedProfile& speed = fleet_[replica.deployment].speed;
  const Seconds prefill = speed.prefill(static_cast<double>((shape.prompt - candidate.cached).value),
                                        static_cast<double>(candidate.cached.value));
  replica.prefill_share = prefill_share(replica, now) + prefill.count() / kPrefillShareWindowSeconds;
  replica.prefill_share_at = now;
  replica.prefixes.hold(shape, Tokens{0});

  const std::uint64_t id = next_flight_++;
  replica.in_flight.push_back({.id = id,
                               .service_class = shape.service_class,
                               .arrived = now,
                               .prompt = shape.prompt,
                               .cached = candidate.cached,
                               .expected_output = static_cast<double>(shape.expected_output.value),
                               .generated = {},
                               .first_token = {},
                               .streamed = shape.streamed,
                               .predicted_ttft = candidate.prediction.ttft,
                               .predicted_tpot = candidate.prediction.tpot});
  const Meter::Weight weight = meter_weight(candidate, shape.expected_output);
  return {id, candidate.replica, meters_[candidate.replica.value].begin(weight, now)};
}

void LiveFleet::first_token(const Flight& flight, TimePoint now) {
  InFlight* entry = find(flight);
  if (entry == nullptr || entry->first_token) return;
  entry->first_token = now;
  saw_ttft(fleet_.replicas[flight.replica.value].errors, entry->predicted_ttft, now - entry->arrived);
}

void LiveFleet::generated(const Flight& flight, Tokens more) {
  if (InFlight* entry = find(flight)) entry->generated += more;
}

NanoUsd LiveFleet::end(const Flight& flight, const RequestShape& shape, std::size_t prompt_bytes,
                       const std::optional<TokenUsage>& usage, bool completed, TimePoint now) {
  Replica& replica = fleet_.replicas.at(flight.replica.value);
  if (const InFlight* entry = find(flight); entry != nullptr && completed && usage) {
    estimates_.saw_prompt(shape.model, prompt_bytes, usage->prompt);
    estimates_.saw_output(shape.model, shape.service_class, usage->completion);
    if (entry->streamed && entry->first_token && usage->completion.value >= kTokensToJudgeTpot)
      saw_tpot(replica.errors, entry->predicted_tpot,
               Seconds{now - *entry->first_token} / static_cast<double>(usage->completion.value - 1));
    RequestShape held = shape;
    held.prompt = usage->prompt;
    replica.prefixes.hold(held, usage->completion);
  }
  std::erase_if(replica.in_flight, [&](const InFlight& entry) { return entry.id == flight.id; });
  return meters_[flight.replica.value].end(flight.ticket, now);
}

void LiveFleet::apply(ReplicaIndex index, const LoadReading& reading, TimePoint began, TimePoint now) {
  Replica& replica = fleet_.replicas.at(index.value);
  const bool restarted = replica.reading && replica.reading->generated_tokens && reading.generated_tokens &&
                         *reading.generated_tokens < *replica.reading->generated_tokens;
  if (restarted) replica.prefixes.clear();
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
}

void LiveFleet::probe_succeeded(ReplicaIndex replica, TimePoint began, TimePoint now) {
  fleet_.replicas.at(replica.value).health.probe_succeeded(began, now);
}

void LiveFleet::probe_failed(ReplicaIndex replica, std::string_view reason, TimePoint now) {
  fleet_.replicas.at(replica.value).health.probe_failed(reason, now);
}

void LiveFleet::connection_failed(ReplicaIndex index, TimePoint now) {
  Replica& replica = fleet_.replicas.at(index.value);
  replica.health.connection_failed(now);
  replica.prefixes.clear();  // nobody listens: when the engine is back, its cache is empty
}

void LiveFleet::answer_succeeded(ReplicaIndex replica) {
  fleet_.replicas.at(replica.value).health.answer_succeeded();
}

void LiveFleet::answer_failed(ReplicaIndex replica, TimePoint now) {
  fleet_.replicas.at(replica.value).health.answer_failed(now);
}

void LiveFleet::tick(TimePoint now, WallTime wall_now) {
  for (std::uint32_t i = 0; i < fleet_.pools.size(); ++i)
    fleet_.pools[i].per_device_hour = prices_.price(PoolIndex{i}, wall_now);
  for (std::size_t i = 0; i < meters_.size(); ++i)
    meters_[i].set_rate(fleet_.group_rate(fleet_.replicas[i]), now);
  assume_progress(now);
}

void LiveFleet::assume_progress(TimePoint now) {
  for (Replica& replica : fleet_.replicas) {
    for (InFlight& entry : replica.in_flight) {
      const Seconds decoded = Seconds{now - entry.arrived} - entry.predicted_ttft;
      if (entry.streamed || decoded.count() < 0) continue;
      entry.first_token = now - std::chrono::duration_cast<TimePoint::duration>(decoded);
      if (entry.predicted_tpot.count() > 0) entry.generated = {std::llround(decoded / entry.predicted_tpot)};
    }
  }
}

InFlight* LiveFleet::find(const Flight& flight) {
  auto& in_flight = fleet_.replicas.at(flight.replica.value).in_flight;
  const auto found = std::ranges::find(in_flight, flight.id, &InFlight::id);
  return found == in_flight.end() ? nullptr : &*found;
}

}  // namespace fareway
