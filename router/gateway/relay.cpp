#include "router/gateway/relay.hpp"

#include <array>
#include <utility>
#include <vector>

namespace fareway {

namespace {

using Taken = UpstreamConnection::Taken;

constexpr std::size_t kBufferUpTo = 1u << 20;
constexpr std::size_t kTail = 16u << 10;  // a usage object at the end of a large answer lies within it

bool may_pass_elsewhere(const AnswerFacts& facts) {
  return facts.error && facts.error_status && (*facts.error_status == 429 || *facts.error_status >= 500);
}

void append_all(std::string& text, const std::vector<std::string_view>& parts) {
  for (const std::string_view part : parts) text.append(part);
}

TimePoint now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

Task<Relay::End> Relay::run() {
  const Fields& fields = state_.upstream->answer().fields();
  const bool encoded = fields.find("content-encoding").value_or("identity") != "identity";
  const std::string_view type = fields.find("content-type").value_or("");
  framing_ = state_.job.client_http11 ? Framing::kChunked : Framing::kClose;
  status_ = static_cast<int>(state_.upstream->answer().status());
  if (type.starts_with("text/event-stream") && !encoded) co_return co_await relay_events();
  const bool whole = !encoded && (!state_.job.stream || state_.upstream->answer().content_length());
  if (whole) co_return co_await relay_whole();
  std::string nothing;
  co_return co_await relay_through(std::move(nothing), 0);
}

void Relay::set_deadline() {
  const Limits& limits = state_.limits();
  if (begun_) {
    state_.deadline.set(Wait::kAnswer, now() + limits.idle_timeout);
  } else {
    state_.deadline.set(Wait::kFirstByte, state_.attempt_began + limits.first_byte_timeout);
  }
}

/// Next piece of the answer; kCut also where a limit, the client's leaving or a shutdown ended it.
Task<Taken> Relay::next() {
  UpstreamConnection& upstream = *state_.upstream;
  if (!upstream.maybe_readable()) {
    set_deadline();
    const bool readable = co_await upstream.readable();
    state_.deadline.clear();
    if (!readable) co_return Taken::kCut;
  }
  co_return upstream.take();
}

/// Passes plain events on as they come, until something has been fed to `scanner` that asks for more; kCut as
/// for `next`.
Task<Taken> Relay::next_that_matters(SseScanner& scanner) {
  UpstreamConnection& upstream = *state_.upstream;
  Taken taken = Taken::kBytes;
  set_deadline();
  const auto take_some = [this, &scanner, &taken] { return pass_on(scanner, taken); };
  if (!take_some()) {
    const bool readable = co_await upstream.readable_until(take_some);
    if (!readable) {
      taken = Taken::kCut;
      scanner.feed({});
    }
  }
  state_.deadline.clear();
  co_return taken;
}

/// One read and one write, as long as there is something to read. True where what was taken last was not
/// passed on, or not wholly: it begins or ends the answer, reports an error, or the client is slower than the
/// engine.
bool Relay::pass_on(SseScanner& scanner, Taken& taken) {
  UpstreamConnection& upstream = *state_.upstream;
  while (upstream.maybe_readable()) {
    taken = upstream.take();
    scanner.feed(taken == Taken::kCut ? std::string_view{} : upstream.body());
    begun_ = scanner.begun();
    const AnswerFacts& facts = scanner.facts();
    if (taken != Taken::kBytes || !head_sent_ || facts.terminal || facts.error) return true;
    if (scanner.ready().empty()) continue;
    set_deadline();
    learn(facts);
    passed_ = send_now(scanner.ready(), false);
    if (passed_ != ClientStream::Sent::kAll) return true;
  }
  return false;
}

Task<Relay::End> Relay::relay_events() {
  SseScanner scanner(state_.loop.reading,
                     state_.job.splice ? SseScanner::UsageChunk::kRemove : SseScanner::UsageChunk::kRelay);
  for (;;) {
    const Taken taken = co_await next_that_matters(scanner);
    const AnswerFacts& facts = scanner.facts();
    if (passed_ != ClientStream::Sent::kAll) {
      const bool caught_up = co_await finish_send(std::exchange(passed_, ClientStream::Sent::kAll));
      if (!caught_up) co_return co_await stop(facts, {});
      continue;
    }
    if (!head_sent_ && may_pass_elsewhere(facts)) {
      refused_in_stream_ = true;
      co_return End::kNothingSent;
    }
    std::string held;  // copied: the bytes it was read from do not outlive the next suspension
    append_all(held, scanner.held());
    if (!scanner.ready().empty()) {
      const bool sent = co_await send(scanner.ready(), false);
      if (!sent) co_return co_await stop(facts, {});
    }
    learn(facts);
    const bool cut_by_close = taken == Taken::kDone && state_.upstream->answer().close_delimited() &&
                              !facts.complete() && !facts.terminal;
    if (taken == Taken::kCut || cut_by_close) {
      const std::string_view end_of_event = scanner.mid_event() ? "\n\n" : "";
      co_return co_await stop(facts, end_of_event);
    }
    const bool done = taken == Taken::kDone;
    if (done) {
      scanner.finish();
      append_all(held, scanner.ready());
      append_all(held, scanner.held());
      if (!scanner.begun()) co_return co_await stop(facts, {});  // an empty answer looks like a silent model
    }
    if (!settled_ && (done || facts.terminal)) {
      settled_ = true;
      report_health(false, facts);
      const Outcome outcome = facts.complete() ? Outcome::kComplete : Outcome::kIncomplete;
      co_await state_.settle(outcome, status_, facts);
    }
    if (done || !held.empty()) {
      const bool sent = co_await send_one(std::move(held), done);
      if (!sent) co_return End::kBrokenOff;
    }
    if (done) co_return End::kServed;
  }
}

Task<Relay::End> Relay::relay_whole() {
  std::string body;
  AnswerFacts facts;
  for (Taken taken = Taken::kBytes; taken != Taken::kDone;) {
    taken = co_await next();
    if (taken == Taken::kCut) co_return co_await stop(facts, {});
    body.append(state_.upstream->body());
    begun_ = !body.empty();
    if (body.size() > kBufferUpTo && taken != Taken::kDone)
      co_return co_await relay_through(std::move(body), kTail);
  }
  const bool readable = state_.loop.reading.answer(body, facts);
  const bool cut_by_close = state_.upstream->answer().close_delimited() && !readable;
  if (body.empty() || cut_by_close) co_return End::kNothingSent;
  settled_ = true;
  report_health(false, facts);
  const Outcome outcome = facts.error || facts.aborted ? Outcome::kIncomplete : Outcome::kComplete;
  co_await state_.settle(outcome, status_, facts);
  framing_ = Framing::kLength;
  length_ = body.size();
  const bool sent = co_await send_one(std::move(body), true);
  co_return sent ? End::kServed : End::kBrokenOff;
}

/// Passes an answer on as it comes, but for the last `keep_back` bytes, which wait for the ledger.
Task<Relay::End> Relay::relay_through(std::string begun, std::size_t keep_back) {
  if (const auto length = state_.upstream->answer().content_length()) {
    framing_ = Framing::kLength;
    length_ = *length;
  }
  std::string pending = std::move(begun);
  AnswerFacts facts;
  for (;;) {
    if (pending.size() > 2 * keep_back) {
      std::string front = pending.substr(0, pending.size() - keep_back);
      pending.erase(0, front.size());
      const bool sent = co_await send_one(std::move(front), false);
      if (!sent) co_return co_await stop(facts, {});
    }
    const Taken taken = co_await next();
    if (taken == Taken::kCut) co_return co_await stop(facts, {});
    pending.append(state_.upstream->body());
    begun_ = begun_ || !pending.empty();
    if (taken != Taken::kDone) continue;
    state_.loop.reading.tail(pending, facts);
    settled_ = true;
    report_health(false, facts);
    co_await state_.settle(Outcome::kComplete, status_, facts);
    const bool sent = co_await send_one(std::move(pending), true);
    co_return sent ? End::kServed : End::kBrokenOff;
  }
}

/// The answer ends here without being whole. What the client has seen must not look complete.
Task<Relay::End> Relay::stop(const AnswerFacts& facts, std::string_view before_error) {
  const std::string last_words(before_error);
  const bool client_gone = state_.interrupt == Interrupt::kClientGone;
  if (!head_sent_ && !client_gone) co_return End::kNothingSent;
  const bool by_limit = state_.expired.has_value();
  if (!settled_) {
    settled_ = true;
    if (state_.interrupt == Interrupt::kNone) report_health(true, facts);
    const Outcome outcome = client_gone ? Outcome::kClientClosed : Outcome::kIncomplete;
    co_await state_.settle(outcome, head_sent_ ? status_ : 0, facts);
  }
  const bool is_stream = framing_ != Framing::kLength && state_.job.stream;
  if (client_gone || facts.terminal || !is_stream) co_return End::kBrokenOff;
  Refusal refusal = refusals::engine_broke_off();
  if (state_.interrupt == Interrupt::kShutdown) refusal = refusals::shutting_down();
  if (by_limit)
    refusal = *state_.expired == Wait::kFirstByte ? refusals::first_byte_timeout() : refusals::idle_timeout();
  std::string event = last_words + error_event(refusal, dialect_of(state_.job.api));
  co_await send_one(std::move(event), false);
  co_return End::kBrokenOff;
}

void Relay::learn(const AnswerFacts& facts) {
  if (facts.deltas == deltas_seen_) return;
  if (deltas_seen_ == 0) state_.settlement.first_token(now());
  state_.settlement.generated(facts.deltas - deltas_seen_);
  deltas_seen_ = facts.deltas;
}

/// A request's own fault says nothing about the replica; neither does being busy.
void Relay::report_health(bool cut, const AnswerFacts& facts) {
  LiveFleet& fleet = state_.loop.parts.fleet;
  const ReplicaIndex replica = state_.settlement.replica();
  const int status = facts.error_status.value_or(500);
  const bool engines_fault = facts.error && status >= 500 && status != 503;
  if (cut || engines_fault) {
    fleet.answer_failed(replica, now());
  } else if (!facts.error) {
    fleet.answer_succeeded(replica);
  }
}

std::string Relay::take_head() {
  head_sent_ = true;
  std::string().swap(state_.job.body);  // no retry from here on, and streams last long
  const Fleet& fleet = state_.loop.parts.fleet.fleet();
  return write_head({.status = status_,
                     .fields = state_.upstream->answer().fields(),
                     .framing = framing_,
                     .length = length_,
                     .keep_alive = state_.keep_alive(),
                     .request_id = state_.job.request_id,
                     .pool = fleet[fleet[state_.settlement.replica()].pool].name,
                     .service_class = fleet[state_.job.shape.service_class].name});
}

/// Frames `parts` as one piece of the body, behind the head where that has not been sent.
ClientStream::Sent Relay::send_now(std::span<const std::string_view> parts, bool last) {
  std::size_t bytes = 0;
  for (const std::string_view part : parts) bytes += part.size();
  std::string prologue = head_sent_ ? std::string{} : take_head();
  const bool chunked = framing_ == Framing::kChunked;
  if (chunked && bytes > 0) prologue += chunk_size_line(bytes);
  auto& all = state_.loop.scratch.outgoing;
  all.assign(1, prologue);
  all.insert(all.end(), parts.begin(), parts.end());
  if (chunked && bytes > 0) all.emplace_back("\r\n");
  if (chunked && last) all.emplace_back("0\r\n\r\n");
  return state_.client.send(all);
}

/// False where the client is gone or has taken nothing for too long.
Task<bool> Relay::finish_send(ClientStream::Sent sent) {
  bool all = sent == ClientStream::Sent::kAll;
  if (sent == ClientStream::Sent::kPart) all = co_await state_.client.flush();
  if (!all && state_.interrupt == Interrupt::kNone) state_.interrupt = Interrupt::kClientGone;
  co_return all;
}

Task<bool> Relay::send(std::span<const std::string_view> parts, bool last) {
  const ClientStream::Sent sent = send_now(parts, last);
  co_return co_await finish_send(sent);
}

Task<bool> Relay::send_one(std::string bytes, bool last) {
  const std::array<std::string_view, 1> parts{bytes};
  co_return co_await send(parts, last);
}

}  // namespace fareway
