#include "router/gateway/session.hpp"

#include <utility>
#include <variant>

#include "router/gateway/job_builder.hpp"
#include "router/gateway/models_list.hpp"
#include "router/gateway/response_head.hpp"

namespace fareway {

namespace {

TimePoint now() {
  return std::chrono::steady_clock::now();
}

/// The low `digits` × 4 bits, highest first.
void append_hex(std::string& text, std::uint64_t bits, unsigned digits) {
  while (digits-- > 0) text += "0123456789abcdef"[(bits >> (4 * digits)) & 15u];
}

}  // namespace

Session::Session(std::shared_ptr<LoopState> loop, Socket socket)
    : loop_(std::move(loop)),
      client_(std::make_unique<ClientStream>(std::move(socket), *loop_->ready, loop_->parts.config.limits,
                                             deadline_, loop_->scratch)) {}

Task<void> Session::run() {
  if (loop_->tls) {
    const bool secured = co_await client_->secure(loop_->tls);
    if (!secured) {
      loop_->parts.metrics.tls_handshake_failed();
      co_return client_->close();
    }
  }
  for (bool more = true; more; first_request_ = false) more = co_await serve_one();
  client_->close();
}

/// True where another request may follow.
Task<bool> Session::serve_one() {
  RequestReader reader(loop_->parts.config.limits.max_body_bytes);
  if (!co_await read_head(reader)) co_return false;
  std::string request_id = new_request_id();
  const RequestHead& head = reader.head();
  const Dialect dialect = dialect_of_target(head.target);
  if (reader.refusal()) co_return co_await refuse(*reader.refusal(), dialect, std::move(request_id), false);
  Route route = find_route(head.method, head.target);
  // A body that nobody is going to read would be taken for the next request.
  const bool reusable = head.keep_alive && !head.has_body();
  if (const auto* refusal = std::get_if<Refusal>(&route)) {
    co_return co_await refuse(*refusal, dialect, std::move(request_id), reusable);
  }
  const ApiKey* key = authenticate(loop_->keys, head.fields);
  if (key == nullptr) {
    co_return co_await refuse(refusals::unauthorized(), dialect, std::move(request_id), reusable);
  }
  if (auto* query = std::get_if<ModelsQuery>(&route)) {
    co_return co_await serve_models(head, *key, std::move(query->id), std::move(request_id));
  }
  co_return co_await serve_api(reader, *key, std::get<Api>(route), std::move(request_id));
}

/// True where a head was read or refused; false where the connection ended or idled out.
Task<bool> Session::read_head(RequestReader& reader) {
  const Limits& limits = loop_->parts.config.limits;
  std::string& input = client_->input();
  const auto idle_limit = first_request_ ? limits.header_timeout : limits.keep_alive_timeout;
  bool begun = false;
  expired_.reset();
  deadline_.set(Wait::kNextRequest, now() + idle_limit);
  for (;;) {
    if (!input.empty()) {
      if (!begun) deadline_.set(Wait::kHead, now() + limits.header_timeout);
      begun = true;
      input.erase(0, reader.feed(input));
      if (reader.refusal() || reader.head_done()) break;
    } else if (loop_->draining && !begun) {
      co_return false;
    }
    if (co_await client_->read()) continue;
    if (begun && expired_) {
      co_await refuse(refusals::request_timeout(), Dialect::kOpenAi, new_request_id(), false);
    }
    co_return false;
  }
  deadline_.clear();
  co_return true;
}

/// True where the body is whole; false where it was refused (see `reader.refusal()`) or the client left.
Task<bool> Session::read_body(RequestReader& reader) {
  const Limits& limits = loop_->parts.config.limits;
  std::string& input = client_->input();
  if (reader.head().expects_continue() && input.empty() && !reader.done()) {
    if (!co_await client_->write("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
  }
  expired_.reset();
  while (!reader.done()) {
    if (!input.empty()) {
      input.erase(0, reader.feed(input));
      if (reader.refusal()) break;
      if (reader.done()) break;
      // Only a chunk's size line is left over, and it must end somewhere.
      if (input.size() > kMaxHeadBytes) co_return false;
    }
    deadline_.set(Wait::kBody, now() + limits.body_idle_timeout);
    if (!co_await client_->read()) break;
  }
  deadline_.clear();
  co_return reader.done() && !reader.refusal();
}

Task<bool> Session::serve_api(RequestReader& reader, const ApiKey& key, Api api, std::string request_id) {
  const RequestHead& head = reader.head();
  const Dialect dialect = dialect_of(api);
  if (head.fields.find("content-encoding").value_or("identity") != "identity") {
    co_return co_await refuse(refusals::unsupported_encoding(), dialect, std::move(request_id), false);
  }
  if (!co_await read_body(reader)) {
    if (reader.refusal()) co_return co_await refuse(*reader.refusal(), dialect, std::move(request_id), false);
    if (expired_)
      co_return co_await refuse(refusals::request_timeout(), dialect, std::move(request_id), false);
    co_return false;
  }
  AcceptedRequest request{.request_id = request_id,
                          .api = api,
                          .key = &key,
                          .head = &head,
                          .body = reader.take_body(),
                          .arrived = now(),
                          .wall_arrived = std::chrono::system_clock::now()};
  auto job = build_job(*loop_, std::move(request));
  if (!job) co_return co_await refuse(job.error(), dialect, std::move(request_id), head.keep_alive);
  if (loop_->draining)
    co_return co_await refuse(refusals::shutting_down(), dialect, std::move(request_id), false);
  Exchange exchange(*loop_, *client_, deadline_, std::move(*job));
  exchange_ = &exchange;
  const bool more = co_await exchange.run();
  exchange_ = nullptr;
  co_return more;
}

Task<bool> Session::serve_models(const RequestHead& head, const ApiKey& key, std::string id,
                                 std::string request_id) {
  const auto body = models_answer(loop_->parts.config.fleet, key.tenant, id);
  const bool keep_alive = head.keep_alive && !head.has_body() && !loop_->draining;
  if (!body) {
    co_return co_await refuse(refusals::model_not_found(id), Dialect::kOpenAi, std::move(request_id),
                              keep_alive);
  }
  const OwnAnswer answer{.status = 200,
                         .body = *body,
                         .request_id = request_id,
                         .keep_alive = keep_alive,
                         .head_only = head.method == "HEAD"};
  const std::string text = write_answer(answer);
  if (!co_await client_->write(text)) co_return false;
  if (!keep_alive) co_await client_->linger();
  co_return keep_alive;
}

Task<bool> Session::refuse(Refusal refusal, Dialect dialect, std::string request_id, bool keep_alive) {
  loop_->parts.metrics.request_refused(refusal.reason);
  const bool more = keep_alive && !loop_->draining;
  const std::string text = write_refusal(refusal, dialect, request_id, more);
  if (!co_await client_->write(text)) co_return false;
  if (!more) co_await client_->linger();
  co_return more;
}

/// Milliseconds since 1970, then 80 random bits, so that the ledger's index grows at its end.
std::string Session::new_request_id() {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  std::string id = "req-";
  append_hex(id, static_cast<std::uint64_t>(millis), 12);
  append_hex(id, loop_->random(), 16);
  append_hex(id, loop_->random(), 4);
  return id;
}

void Session::tick(TimePoint time) {
  if (!deadline_.passed(time)) return;
  const Wait wait = deadline_.waiting_for();
  deadline_.clear();
  expired_ = wait;
  if (exchange_ != nullptr) return exchange_->expire(wait);
  client_->cancel();
}

void Session::drain() {
  const Wait wait = deadline_.waiting_for();
  if (wait == Wait::kNextRequest || wait == Wait::kHandshake) client_->cancel();
}

bool Session::cut() {
  const bool busy = exchange_ != nullptr;
  if (busy) {
    exchange_->cut();
  } else {
    client_->close();
  }
  return busy;
}

void Session::abandon() {
  if (exchange_ != nullptr) exchange_->abandon();
  client_->close();
}

}  // namespace fareway
