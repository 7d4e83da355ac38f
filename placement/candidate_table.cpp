#include "placement/candidate_table.hpp"

#include <algorithm>
#include <cmath>

#include "placement/constraints/constraints.hpp"
#include "placement/score/ask.hpp"

namespace fareway {
namespace {

/// Writes one replica's lane; converts to single precision once, here.
class LaneWriter {
 public:
  LaneWriter(CandidateTile& tile, std::size_t lane) : tile_(tile), lane_(lane) {}

  void speed(const SpeedProfile& speed);
  void price(const Fleet& fleet, const Replica& replica);
  void work(const SpeedProfile& speed, const Deployment& deployment, const ReplicaLoad& load,
            double foreign_waiting, Seconds since_epoch);
  void room(const Fleet& fleet, const Replica& replica, const ReplicaLoad& load);
  void spreads(const PredictionErrors& errors);
  void feasibility(const Fleet& fleet, const Replica& replica);

 private:
  void set(FloatLanes& lanes, double value) { lanes[lane_] = static_cast<float>(value); }

  CandidateTile& tile_;
  std::size_t lane_;
};

void LaneWriter::speed(const SpeedProfile& speed) {
  constexpr double kSmallestShareLeft = 1e-30;
  set(tile_.per_prompt_token, speed.per_prompt_token);
  set(tile_.per_prompt_pair, speed.per_prompt_pair);
  set(tile_.per_sequence, speed.per_sequence);
  set(tile_.per_context_token, speed.per_context_token);
  set(tile_.log_experts_left, std::log(std::max(1 - speed.expert_share, kSmallestShareLeft)));
}

void LaneWriter::price(const Fleet& fleet, const Replica& replica) {
  const bool releasable = fleet[replica.pool].releasable();
  set(tile_.usd_per_second, releasable ? (to_usd_per_hour(fleet.group_rate(replica)) * Seconds{1}).value : 0);
}

void LaneWriter::work(const SpeedProfile& speed, const Deployment& deployment, const ReplicaLoad& load,
                      double foreign_waiting, Seconds since_epoch) {
  const double step = speed.step(load.decoding, load.context).count();
  const double sequences = load.decoding + load.queued;
  const double context = load.context + load.queued_context;
  const double next_step = speed.step(sequences + 1, context).count();
  set(tile_.step, step);
  set(tile_.experts_left,
      speed.expert_weights * std::pow(1 - std::min(speed.expert_share, 1.0), load.decoding));
  set(tile_.running_step, load.decoding > 0 ? step / 2 : 0);
  set(tile_.chunk_room, std::max(1.0, static_cast<double>(deployment.chunk.value) - load.decoding));
  set(tile_.queued_uncached, load.queued_uncached);
  set(tile_.foreign_waiting, foreign_waiting);
  set(tile_.prefill_behind, load.prefill_behind.count());
  set(tile_.prefill_done, (load.prefill_left + since_epoch).count());
  set(tile_.prefill_share, load.prefill_share * std::exp(since_epoch.count() / kPrefillShareWindowSeconds));
  set(tile_.next_step, next_step);
  set(tile_.slower_step, next_step - speed.step(sequences, context).count());
  set(tile_.step_per_sequence, load.decoding > 0 ? step / load.decoding : 0);
  set(tile_.step_per_kv_token, load.decoding > 0 && load.context > 0 ? step / load.context : 0);
  set(tile_.mean_remaining, load.mean_remaining.value_or(-1));
}

void LaneWriter::room(const Fleet& fleet, const Replica& replica, const ReplicaLoad& load) {
  const Deployment& deployment = fleet[replica.deployment];
  const auto& reading = replica.reading;
  const double seats = reading && reading->seats ? *reading->seats : deployment.seats;
  const Tokens kv_tokens =
      reading && reading->kv_capacity ? *reading->kv_capacity : deployment.capacity.longest_sequence();
  set(tile_.seats_short, load.decoding + load.queued + 1 - seats);
  set(tile_.kv_tokens_free, static_cast<double>(kv_tokens.value) - load.context - load.queued_context);
}

void LaneWriter::spreads(const PredictionErrors& errors) {
  for (std::size_t kind = 0; kind < kRequestKinds; ++kind) {
    set(tile_.certainty_of_ttft[kind], 1 / errors.by_kind[kind].ttft);
    set(tile_.certainty_of_tpot[kind], 1 / errors.by_kind[kind].tpot);
  }
}

void LaneWriter::feasibility(const Fleet& fleet, const Replica& replica) {
  tile_.context_limit[lane_] = saturated(fleet[replica.deployment].context_limit);
  tile_.violated[lane_] = static_cast<std::uint32_t>(violated_by_replica(fleet, replica));
  tile_.pool[lane_] = replica.pool.value;
}

/// Sixteen candidates that are always excluded, with values that every term can be computed from: what
/// divides is not zero, so that no lane holds anything but numbers.
CandidateTile tile_of_nobody() {
  CandidateTile tile{};
  tile.chunk_room.fill(1);
  tile.disturbed_remaining.fill(1);
  for (FloatLanes& lanes : tile.certainty_of_ttft) lanes.fill(1);
  for (FloatLanes& lanes : tile.certainty_of_tpot) lanes.fill(1);
  tile.violated.fill(static_cast<std::uint32_t>(Violation::kAbsent));
  return tile;
}

}  // namespace

CandidateTable::CandidateTable(const Fleet& fleet, TimePoint now)
    : epoch_(now), models_(fleet.models.size()), places_(fleet.replicas.size()) {
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const ModelIndex model = fleet[fleet.replicas[i].deployment].model;
    ModelCandidates& candidates = models_[model.value];
    const std::size_t position = candidates.replicas.size();
    places_[i] = {model, position / kLanes, position % kLanes};
    candidates.replicas.push_back({i});
    if (position % kLanes == 0) {
      candidates.tiles.push_back(tile_of_nobody());
      candidates.curves.resize(candidates.curves.size() + kLanes);
    }
  }
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const Replica& replica = fleet.replicas[i];
    const ReplicaLoad load = load_of(fleet, replica, now);
    refresh(fleet, {i}, load, now);
    set_curve({i}, stall_curve_of(fleet, replica, pace_of(fleet.speed(replica), load), now));
  }
}

void CandidateTable::refresh(const Fleet& fleet, ReplicaIndex index, const ReplicaLoad& load, TimePoint now) {
  const Replica& replica = fleet[index];
  const Deployment& deployment = fleet[replica.deployment];
  const Place& at = places_[index.value];
  LaneWriter lane(models_[at.model.value].tiles[at.tile], at.lane);
  lane.speed(fleet.speed(replica));
  lane.price(fleet, replica);
  lane.work(fleet.speed(replica), deployment, load, static_cast<double>(replica.foreign_waiting),
            now - epoch_);
  lane.room(fleet, replica, load);
  lane.spreads(replica.errors);
  lane.feasibility(fleet, replica);
}

void CandidateTable::set_curve(ReplicaIndex index, const StallCurve& curve) {
  const Place& at = places_[index.value];
  ModelCandidates& candidates = models_[at.model.value];
  candidates.curves[at.tile * kLanes + at.lane] = curve;
  candidates.tiles[at.tile].disturbed_remaining[at.lane] = std::max(curve.remaining(), 1.0F);
}

void CandidateTable::refresh_all(const Fleet& fleet, TimePoint now) {
  epoch_ = now;
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i)
    refresh(fleet, {i}, load_of(fleet, fleet.replicas[i], now), now);
}

StallCurve stall_curve_of(const Fleet& fleet, const Replica& replica, Seconds pace, TimePoint now) {
  StallCurve sum;
  for (const InFlight& q : replica.in_flight)
    sum +=
        stall_curve(q, fleet[q.service_class], replica.errors[kind_of(q.service_class, q.prompt)], pace, now);
  return sum;
}

}  // namespace fareway
