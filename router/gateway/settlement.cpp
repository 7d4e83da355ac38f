#include "router/gateway/settlement.hpp"

#include <utility>

namespace fareway {

namespace {

TimePoint now_steady() {
  return std::chrono::steady_clock::now();
}

}  // namespace

Settlement::Settlement(GatewayParts parts, const Job& job) : parts_(parts), job_(job) {}

Settlement::~Settlement() {
  if (!admitted() || closed_) return;
  parts_.ledger.append(close(Outcome::kIncomplete, 0, {}, now_steady()), [](SqliteLedger::Commit) {});
}

const Decision& Settlement::weigh(TimePoint now) {
  const Fleet& fleet = parts_.fleet.fleet();
  Decision decision = parts_.fleet.decide(job_.shape, failed_, now);
  parts_.metrics.decision_took(now_steady() - now);
  if (!record_) {
    record_ = parts_.decisions.open(job_.request_id);
    record_->decided_at = job_.wall_arrived;
    record_->tenant = fleet[job_.shape.tenant].name;
    record_->shape = job_.shape;
  }
  record_->shape.waited = job_.shape.waited;
  if (!begun_) record_->attempts.pop_back();
  begun_ = false;
  return record_->attempts.emplace_back(std::move(decision));
}

void Settlement::begin(TimePoint now) {
  admit();
  begun_ = true;
  const Candidate& chosen = *record_->attempts.back().chosen_candidate();
  replica_ = chosen.replica;
  flight_ = parts_.fleet.begin(job_.shape, chosen, now);
  if (parts_.scaling != nullptr)
    parts_.scaling->placed(job_.shape.model, job_.shape.service_class, chosen.score);
}

const Decision& Settlement::place(TimePoint now) {
  const Decision& decision = weigh(now);
  if (decision.chosen) begin(now);
  return decision;
}

void Settlement::admit() {
  if (!std::exchange(admitted_, true)) parts_.metrics.request_started();
}

void Settlement::waited(const QueueRecord& queue) {
  record_->queue = queue;
}

void Settlement::attempt_failed(TimePoint now) {
  end_flight(std::nullopt, false, now);
  failed_.push_back(*replica_);
}

void Settlement::first_token(TimePoint now) {
  if (ttft_ || !flight_) return;
  ttft_ = now - job_.arrived;
  parts_.fleet.first_token(*flight_, now);
}

void Settlement::generated(std::int64_t tokens) {
  if (flight_ && tokens > 0) parts_.fleet.generated(*flight_, Tokens{tokens});
}

void Settlement::end_flight(const std::optional<TokenUsage>& usage, bool completed, TimePoint now) {
  if (!flight_) return;
  const Fleet& fleet = parts_.fleet.fleet();
  const Replica& replica = fleet[*replica_];
  const NanoUsd cost = parts_.fleet.end(*flight_, job_.shape, usage, completed, now);
  charges_.push_back({replica.name, fleet[replica.pool].name, cost});
  flight_.reset();
}

LedgerRow Settlement::close(Outcome outcome, int status, const AnswerFacts& facts, TimePoint now) {
  closed_ = true;
  end_flight(facts.usage, outcome == Outcome::kComplete, now);
  const Fleet& fleet = parts_.fleet.fleet();
  LedgerRow row;
  row.request_id = job_.request_id;
  row.admitted_at = job_.wall_arrived;
  row.tenant = fleet[job_.shape.tenant].name;
  row.key_id = job_.key->id;
  row.model = fleet[job_.shape.model].name;
  row.service_class = fleet[job_.shape.service_class].name;
  row.endpoint = path_of(job_.api);
  row.session = job_.session;
  row.outcome = outcome;
  row.status = status;
  row.ttft = ttft_;
  row.duration = now - job_.arrived;
  row.charges = charges_;
  if (outcome != Outcome::kFailed && outcome != Outcome::kEngineError) add_usage(row, facts);
  record(row);
  const auto pool = replica_ ? std::optional(fleet[*replica_].pool) : std::nullopt;
  parts_.metrics.request_ended(row, job_.shape.model, job_.shape.service_class, pool);
  return row;
}

/// The engine's own count where it gave one, even for an answer that broke off. Else what was seen: a stream
/// that had begun has used its prompt and the events relayed. Nothing seen is unknown, and unknown has no
/// price.
void Settlement::add_usage(LedgerRow& row, const AnswerFacts& facts) const {
  if (facts.usage) {
    row.usage = facts.usage;
    row.usage_source = UsageSource::kEngine;
  } else if (facts.deltas > 0) {
    row.usage =
        TokenUsage{.prompt = job_.shape.prompt, .cached = Tokens{0}, .completion = Tokens{facts.deltas}};
    row.usage_source = UsageSource::kCounted;
  }
  const auto& list = parts_.fleet.fleet()[job_.shape.model].list_price;
  if (row.usage && list) row.price = price_of(*list, *row.usage);
}

void Settlement::refused(int status) {
  if (!record_) return;
  record_->outcome = Outcome::kFailed;
  record_->status = status;
  tell_missed();
}

/// Whoever advises which replicas should exist hears of who was late, and of who was refused for want of one.
void Settlement::tell_missed() {
  if (parts_.scaling == nullptr) return;
  const Fleet& fleet = parts_.fleet.fleet();
  const bool nobody_had_time = !replica_ && (record_->status == 429 || record_->status == 503);
  const Seconds late = nobody_had_time ? Seconds{1} : lateness_of(*record_, fleet).value_or(Seconds{0});
  if (late <= Seconds{0}) return;
  parts_.scaling->missed(job_.shape.model, fleet[job_.shape.service_class].miss_dollars(late));
}

void Settlement::record(const LedgerRow& row) {
  record_->outcome = row.outcome;
  record_->status = row.status;
  record_->ttft = row.ttft;
  record_->duration = row.duration;
  record_->usage = row.usage;
  record_->price = row.price;
  for (const Charge& charge : row.charges) record_->cost += charge.cost;
  parts_.metrics.decision_turned_out(*record_, parts_.fleet.fleet());
  tell_missed();
}

}  // namespace fareway
