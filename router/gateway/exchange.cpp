#include "router/gateway/exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "placement/admission/cheaper_hour.hpp"
#include "placement/constraints/constraints.hpp"
#include "router/gateway/relay.hpp"
#include "router/gateway/response_head.hpp"

namespace fareway {

namespace {

using Taken = UpstreamConnection::Taken;

constexpr std::size_t kMaxLedgerBacklog = 10'000;
constexpr std::size_t kMaxErrorBody = 64u << 10;

const AnswerFacts nothing_learned;

TimePoint now() {
  return std::chrono::steady_clock::now();
}

/// Why nobody could be chosen, in the client's terms.
Refusal refusal_of(const Decision& decision) {
  if (!decision.hopeless()) return refusals::no_replica();
  bool context = false;
  bool rules = false;
  for (const Candidate& candidate : decision.candidates) {
    context = context || candidate.excluded_by == "context";
    rules = rules || candidate.excluded_by == "region" || candidate.excluded_by == "price_ceiling";
  }
  if (context) return refusals::context_too_long();
  return rules ? refusals::not_permitted() : refusals::no_replica();
}

/// Nobody can take it now, but somebody will once another request has ended.
bool may_change_soon(const Decision& decision) {
  return std::ranges::any_of(decision.candidates, [](const Candidate& candidate) {
    return candidate.excluded_by == to_string(Violation::kRuleCap);
  });
}

Choice choice_of(const Decision& decision) {
  const Candidate* chosen = decision.chosen_candidate();
  if (chosen == nullptr) return {};
  return {.chosen = *chosen, .refuse_dollars = decision.refuse_dollars};
}

/// Until when the request is held, where that saves dollars.
std::optional<TimePoint> cheaper_hour(const ExchangeState& state) {
  if (!state.loop.room.open()) return std::nullopt;
  const LiveFleet& live = state.loop.parts.fleet;
  const auto time = hold_for_cheaper_hour(state.settlement.decision(), state.job.shape, live.fleet(),
                                          live.prices(), std::chrono::system_clock::now());
  if (!time) return std::nullopt;
  return now() + std::chrono::duration_cast<TimePoint::duration>(*time);
}

void place_at_once(ExchangeState& state) {
  const Fleet& fleet = state.loop.parts.fleet.fleet();
  const Candidate& chosen = *state.settlement.decision().chosen_candidate();
  state.loop.room.queue().placed(placed_at_once(state.job.shape, chosen, fleet), now());
  state.settlement.begin(now());
}

bool out_of_sockets(const ErrorCode& ec) {
  return ec == net::error::no_descriptors || ec == boost::system::errc::too_many_files_open_in_system ||
         ec == boost::system::errc::address_not_available;
}

std::string_view retry_reason(bool reached, bool refused) {
  if (refused) return "refused";
  return reached ? "broke_off" : "unreachable";
}

}  // namespace

Task<void> ExchangeState::settle(Outcome outcome, int status, const AnswerFacts& facts) {
  LedgerRow row = settlement.close(outcome, status, facts, now());
  co_await loop.desk.append_and_wait(std::move(row));
}

void ExchangeState::release_upstream() {
  if (upstream && upstream->reusable()) {
    loop.pool.give_back(settlement.replica(), std::move(upstream), now());
  }
  upstream.reset();
}

Exchange::Exchange(LoopState& loop, ClientStream& client, Deadline& deadline, Job job)
    : state_(loop, client, deadline, std::move(job)) {}

Task<bool> Exchange::run() {
  if (state_.loop.parts.ledger.backlog() > kMaxLedgerBacklog)
    co_return co_await refuse(refusals::ledger_unavailable());
  const Standing standing = weigh();
  if (standing == Standing::kNobody && !may_change_soon(state_.settlement.decision()))
    co_return co_await refuse(refusal_of(state_.settlement.decision()));
  const std::optional<TimePoint> cheaper_from = cheaper_hour(state_);
  state_.client.watch([this] { interrupt(Interrupt::kClientGone); });
  bool more = false;
  if (standing == Standing::kFits && !cheaper_from) {
    place_at_once(state_);
    more = co_await serve();
  } else {
    more = co_await wait_and_serve(cheaper_from);
  }
  state_.client.unwatch();
  state_.deadline.clear();
  state_.release_upstream();
  state_.loop.room.serve_soon(state_.job.shape.model);
  co_return more&& state_.keep_alive() && state_.interrupt == Interrupt::kNone;
}

/// Decides anew with the time that has passed. Before a newcomer is placed the queue catches up, so that
/// whoever came earlier and fits too goes first.
Standing Exchange::weigh() {
  const RequestShape& shape = state_.job.shape;
  WaitingRoom& room = state_.loop.room;
  const auto stand = [&] {
    const TimePoint time = now();
    state_.job.shape.waited = time - state_.job.arrived;
    const Decision& decision = state_.settlement.weigh(time);
    if (!decision.chosen) return Standing::kNobody;
    return room.open()
               ? room.queue().newcomer(choice_of(decision), shape, state_.loop.parts.fleet.fleet(), time)
               : Standing::kFits;
  };
  const Standing standing = stand();
  if (standing != Standing::kFits || room.queue().empty(shape.model)) return standing;
  room.serve(shape.model, now());
  return stand();
}

Task<bool> Exchange::wait_and_serve(std::optional<TimePoint> cheaper_from) {
  LoopState& loop = state_.loop;
  QueueRecord record{.for_cheaper_hour = cheaper_from.has_value()};
  if (const Candidate* at_once = state_.settlement.decision().chosen_candidate())
    record.misses_at_first = at_once->score.own_miss + at_once->score.others_miss;
  Waiting waiting = waiting_of(state_.job.shape, loop.parts.fleet.fleet(), state_.job.arrived,
                               loop.parts.config.queue.max_wait);
  waiting.id = loop.room.next_id();
  waiting.bytes = state_.job.body.size();
  waiting.not_before = cheaper_from.value_or(TimePoint{});

  const TimePoint began = now();
  std::optional<WaitingRoom::TurnAway> turned_away = loop.room.enter(waiting);
  if (!turned_away) {
    state_.settlement.admit();
    waiting_as_ = waiting.id;
    WaitingRoom::Place place = [this](const Waiting& one, TimePoint time) {
      return place_if_fits(one, time);
    };
    turned_away = co_await loop.room.stay(waiting, std::move(place));
    waiting_as_.reset();
    if (state_.settlement.closed()) co_return false;  // abandoned: nothing may be touched
    record.waited = now() - began;
  }
  if (turned_away) record.turned_away = turned_away->why;
  state_.settlement.waited(record);
  if (turned_away && state_.interrupt == Interrupt::kNone) co_return co_await turn_away(*turned_away);
  co_return co_await serve();
}

/// A row is owed to who has waited. Who was turned away at once gets none, so that a flood writes nothing.
Task<bool> Exchange::turn_away(WaitingRoom::TurnAway why) {
  Refusal refusal = refusals::busy(why.why, why.drain);
  if (!state_.settlement.admitted()) co_return co_await refuse(std::move(refusal));
  co_return co_await answer(std::move(refusal), Outcome::kFailed);
}

/// Called by the waiting room, while `wait_and_serve` waits.
bool Exchange::place_if_fits(const Waiting& waiting, TimePoint time) {
  if (state_.interrupt != Interrupt::kNone) return false;
  state_.job.shape.waited = time - state_.job.arrived;
  const Decision& decision = state_.settlement.weigh(time);
  if (standing_of(choice_of(decision), waiting, time) != Standing::kFits) return false;
  state_.settlement.begin(time);
  return true;
}

Task<bool> Exchange::serve() {
  for (;;) {
    Attempt got = Attempt::kSilent;
    if (state_.interrupt == Interrupt::kNone) got = co_await attempt();
    if (got == Attempt::kServed || got == Attempt::kAnsweredError) co_return true;
    if (got == Attempt::kBrokenOff) co_return false;
    if (state_.interrupt == Interrupt::kClientGone) {
      co_await state_.settle(Outcome::kClientClosed, 0, nothing_learned);
      co_return false;
    }
    if (state_.interrupt == Interrupt::kShutdown)
      co_return co_await answer(refusals::shutting_down(), Outcome::kFailed);
    if (!retry(got)) co_return co_await give_up(got);
  }
}

Task<Exchange::Attempt> Exchange::attempt() {
  state_.expired.reset();
  const ReplicaIndex replica = state_.settlement.replica();
  state_.upstream = state_.loop.pool.take_idle(replica);
  reused_connection_ = state_.upstream != nullptr;
  if (!reused_connection_) {
    const Attempt connected = co_await connect(replica);
    if (connected != Attempt::kServed) co_return connected;
  }
  state_.attempt_began = now();
  bool sent = co_await forward(replica);
  if (!sent && reused_connection_ && state_.interrupt == Interrupt::kNone && !state_.expired) {
    // The engine closed it while it was idle and has not seen the whole request: a fresh one is no second
    // try.
    const Attempt connected = co_await connect(replica);
    if (connected != Attempt::kServed) co_return connected;
    sent = co_await forward(replica);
  }
  if (!sent) co_return Attempt::kSilent;
  co_return co_await await_head();
}

/// kServed where it is connected.
Task<Exchange::Attempt> Exchange::connect(ReplicaIndex replica) {
  state_.upstream = state_.loop.pool.fresh();
  state_.deadline.set(Wait::kConnect, now() + state_.limits().connect_timeout);
  const ErrorCode ec = co_await state_.loop.pool.connect(replica, *state_.upstream);
  state_.deadline.clear();
  if (!ec && !state_.upstream->closed()) co_return Attempt::kServed;
  co_return out_of_sockets(ec) ? Attempt::kLocalTrouble : Attempt::kUnreached;
}

/// Sends head and body; true where the engine's socket took all of it.
Task<bool> Exchange::forward(ReplicaIndex replica) {
  const Job& job = state_.job;
  const std::string head = forwarded_head(replica);
  const std::string_view body = job.body;
  const Splice whole{.offset = body.size(), .removed = 0, .inserted = {}};
  const Splice& splice = job.splice ? *job.splice : whole;
  std::array<std::string_view, 4> parts{head, body.substr(0, splice.offset), splice.inserted,
                                        body.substr(splice.offset + splice.removed)};
  state_.upstream->begin_answer();
  state_.deadline.set(Wait::kFirstByte, state_.attempt_began + state_.limits().first_byte_timeout);
  const bool sent = co_await state_.upstream->write(parts);
  state_.deadline.clear();
  co_return sent && !state_.upstream->closed();
}

std::string Exchange::forwarded_head(ReplicaIndex replica) const {
  const Job& job = state_.job;
  const Endpoint& endpoint = state_.loop.parts.config.access[replica.value].endpoint;
  std::size_t length = job.body.size();
  if (job.splice) length += job.splice->inserted.size() - job.splice->removed;
  std::string head = "POST " + std::string(path_of(job.api)) + " HTTP/1.1\r\n";
  append_field(head, "host", endpoint.authority());
  append_field(head, "content-length", std::to_string(length));
  append_field(head, "x-request-id", job.request_id);
  if (!endpoint.api_key.empty()) append_field(head, "authorization", "Bearer " + endpoint.api_key);
  return head + job.forwarded + "\r\n";
}

Task<Exchange::Attempt> Exchange::await_head() {
  state_.deadline.set(Wait::kFirstByte, state_.attempt_began + state_.limits().first_byte_timeout);
  while (!state_.upstream->answer().head_done()) {
    bool readable = state_.upstream->maybe_readable();
    if (!readable) readable = co_await state_.upstream->readable();
    if (!readable || state_.upstream->take() == Taken::kCut) co_return Attempt::kSilent;
  }
  state_.deadline.clear();
  co_return co_await judge_head();
}

Task<Exchange::Attempt> Exchange::judge_head() {
  const unsigned status = state_.upstream->answer().status();
  const bool without_body = state_.upstream->answer().done();
  if (status / 100 == 2 && without_body) co_return Attempt::kSilent;  // a 204, or a length of 0
  if (status / 100 == 2) co_return co_await relay();
  if (status == 429 || status >= 500) co_return Attempt::kRefused;
  if (status == 401 || status == 403 || status < 400) {
    const Refusal refusal = status < 400 ? refusals::engine_odd_answer() : refusals::engine_rejected_router();
    const bool more = co_await answer(refusal, Outcome::kFailed);
    co_return more ? Attempt::kAnsweredError : Attempt::kBrokenOff;
  }
  const bool more = co_await relay_error();
  co_return more ? Attempt::kAnsweredError : Attempt::kBrokenOff;
}

Task<Exchange::Attempt> Exchange::relay() {
  Relay relay(state_);
  const Relay::End end = co_await relay.run();
  if (end == Relay::End::kServed) co_return relay.ends_by_close() ? Attempt::kBrokenOff : Attempt::kServed;
  if (end == Relay::End::kBrokenOff) co_return Attempt::kBrokenOff;
  co_return relay.refused_in_stream() ? Attempt::kRefused : Attempt::kSilent;
}

/// Ends the attempt and places the request anew; false where nobody else can take it.
bool Exchange::retry(Attempt failed) {
  LiveFleet& fleet = state_.loop.parts.fleet;
  const ReplicaIndex replica = state_.settlement.replica();
  const bool in_stream = failed == Attempt::kRefused && state_.upstream->answer().status() / 100 == 2;
  const unsigned status = failed == Attempt::kRefused && !in_stream ? state_.upstream->answer().status() : 0;
  // Busy (429, 503) says alive; everything else counts against the replica.
  if (failed == Attempt::kUnreached) fleet.connection_failed(replica, now());
  if (failed == Attempt::kSilent || (status >= 500 && status != 503)) fleet.answer_failed(replica, now());
  state_.settlement.attempt_failed(now());
  if (state_.expired == Wait::kFirstByte) return false;  // its patience is used up
  if (state_.settlement.attempts() >= state_.limits().max_attempts) return false;
  state_.job.shape.waited = now() - state_.job.arrived;
  if (!state_.settlement.place(now()).chosen) return false;
  state_.loop.parts.metrics.retried(retry_reason(failed != Attempt::kUnreached, failed == Attempt::kRefused));
  return true;
}

Task<bool> Exchange::give_up(Attempt failed) {
  const bool at_hand = failed == Attempt::kRefused && state_.upstream->answer().status() / 100 != 2;
  if (at_hand) co_return co_await relay_error();
  co_return co_await answer(refusal_for(failed), Outcome::kFailed);
}

Refusal Exchange::refusal_for(Attempt failed) const {
  if (state_.expired == Wait::kFirstByte) return refusals::first_byte_timeout();
  switch (failed) {
    case Attempt::kUnreached:
      return refusals::engine_unreachable();
    case Attempt::kRefused:
    case Attempt::kLocalTrouble:
      return refusals::no_replica();
    default:
      return refusals::engine_broke_off();
  }
}

/// The engine's own error answer: a 4xx as it is, of a 5xx the status only, since its words are for
/// operators.
Task<bool> Exchange::relay_error() {
  const int status = static_cast<int>(state_.upstream->answer().status());
  std::string body;
  Taken taken = state_.upstream->answer().done() ? Taken::kDone : Taken::kBytes;
  while (taken == Taken::kBytes && body.size() <= kMaxErrorBody) {
    state_.deadline.set(Wait::kAnswer, now() + state_.limits().idle_timeout);
    if (!state_.upstream->maybe_readable()) {
      const bool readable = co_await state_.upstream->readable();
      if (!readable) break;
    }
    taken = state_.upstream->take();
    body.append(state_.upstream->body());
  }
  state_.deadline.clear();
  if (state_.interrupt == Interrupt::kClientGone) {
    co_await state_.settle(Outcome::kClientClosed, 0, nothing_learned);
    co_return false;
  }
  const std::string& secret =
      state_.loop.parts.config.access[state_.settlement.replica().value].endpoint.api_key;
  const bool shows_secret = !secret.empty() && body.find(secret) != std::string::npos;
  const bool own_words = status >= 500 || taken != Taken::kDone || body.empty() || shows_secret;
  if (own_words) body = error_body(refusals::engine_error(status), dialect_of(state_.job.api));
  co_await state_.settle(Outcome::kEngineError, status, nothing_learned);
  const Fleet& fleet = state_.loop.parts.fleet.fleet();
  Fields shown;
  for (const auto& [name, value] : state_.upstream->answer().fields().all()) {
    if (!own_words || !name.starts_with("content-")) shown.add(name, value);
  }
  if (own_words) shown.add("content-type", "application/json");
  std::string text = write_head({.status = status,
                                 .fields = shown,
                                 .framing = Framing::kLength,
                                 .length = body.size(),
                                 .keep_alive = state_.keep_alive(),
                                 .request_id = state_.job.request_id,
                                 .pool = fleet[fleet[state_.settlement.replica()].pool].name,
                                 .service_class = fleet[state_.job.shape.service_class].name});
  text += body;
  co_return co_await state_.client.write(text);
}

/// Our own answer to an admitted request: row first.
Task<bool> Exchange::answer(Refusal refusal, Outcome outcome) {
  co_await state_.settle(outcome, refusal.status, nothing_learned);
  const std::string text =
      write_refusal(refusal, dialect_of(state_.job.api), state_.job.request_id, state_.keep_alive());
  co_return co_await state_.client.write(text);
}

/// Our own answer to a request that was never admitted: no row.
Task<bool> Exchange::refuse(Refusal refusal) {
  state_.loop.parts.metrics.request_refused(refusal.reason);
  state_.settlement.refused(refusal.status);
  const std::string text =
      write_refusal(refusal, dialect_of(state_.job.api), state_.job.request_id, state_.keep_alive());
  const bool sent = co_await state_.client.write(text);
  co_return sent&& state_.keep_alive();
}

void Exchange::expire(Wait wait) {
  if (wait == Wait::kClientWrite) return state_.client.cancel();
  state_.expired = wait;
  if (state_.upstream) state_.upstream->close();
}

void Exchange::interrupt(Interrupt why) {
  if (state_.interrupt != Interrupt::kNone) return;
  state_.interrupt = why;
  if (waiting_as_)
    state_.loop.room.leave(*waiting_as_, why == Interrupt::kClientGone ? "client_closed" : "shutting_down");
  if (state_.upstream) state_.upstream->close();
  // A client that takes nothing would keep the exchange waiting for ever.
  if (state_.deadline.waiting_for() == Wait::kClientWrite) state_.client.cancel();
}

void Exchange::abandon() {
  if (state_.upstream) state_.upstream->close();  // ends what waits for it, so that the loop can let go of it
  if (!state_.settlement.admitted() || state_.settlement.closed()) return;
  state_.loop.parts.ledger.append(state_.settlement.close(Outcome::kIncomplete, 0, {}, now()),
                                  [](SqliteLedger::Commit) {});
}

}  // namespace fareway
