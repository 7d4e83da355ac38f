#include "adapters/emulator/session.hpp"

#include <cerrno>
#include <limits>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "adapters/emulator/endpoints.hpp"
#include "adapters/emulator/text.hpp"
#include "adapters/emulator/work.hpp"

namespace fareway::emulator {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;

constexpr std::uint64_t kBodyLimit = std::uint64_t{128} << 20U;
constexpr std::uint32_t kHeaderLimit = 64 * 1024;
constexpr Tokens kEndless{std::numeric_limits<std::int64_t>::max()};
constexpr std::string_view kGarbageBody = "<html><body>502 Bad Gateway</body></html>";
constexpr std::string_view kGarbageEvent = "data: {\"choices\":[{\"ind\n\n";
constexpr auto kTuple = net::as_tuple(net::use_awaitable);

using Generations = std::vector<std::shared_ptr<Generation>>;

/// True where nothing more will come from the peer; bytes that wait to be read are left where they are.
bool has_gone(tcp::socket& socket) {
  char byte{};
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, std::shared_ptr<Emulation> emulation, Emulation::Listen listen)
      : socket_(std::move(socket)), emulation_(std::move(emulation)), listen_(std::move(listen)) {
    emulation_->connections().insert(&socket_);
  }
  ~Session() { emulation_->connections().erase(&socket_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// The caller keeps the session until this has ended.
  net::awaitable<void> run() {
    boost::system::error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    for (bool more = true; more;) {
      more = co_await read_request();
      if (more) more = co_await answer();
    }
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }

 private:
  // Each of these returns false where the connection is at its end.
  net::awaitable<bool> read_request();
  net::awaitable<bool> answer();
  net::awaitable<bool> answer_api(Api api);
  net::awaitable<bool> answer_work(Work work, std::optional<Fault> fault);
  net::awaitable<bool> stream(std::shared_ptr<Generation> generation, Work work, std::optional<Fault> fault);
  net::awaitable<bool> wait_and_answer(Generations generations, Work work);
  net::awaitable<bool> send(PlainAnswer plain);
  net::awaitable<bool> send_stream_head();
  net::awaitable<bool> send_events(std::vector<std::string> events, std::optional<Fault> fault);
  net::awaitable<bool> send_event(std::string event, std::optional<Fault> fault);
  net::awaitable<bool> send_last_chunk();

  void watch(Generations generations);
  void abort(const Generations& generations);
  void reset();

  tcp::socket socket_;
  std::shared_ptr<Emulation> emulation_;
  Emulation::Listen listen_;
  boost::beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  std::int64_t events_sent_{0};  // of the stream under way
};

net::awaitable<bool> Session::read_request() {
  http::request_parser<http::string_body> parser;
  parser.body_limit(kBodyLimit);
  parser.header_limit(kHeaderLimit);
  auto [error, size] = co_await http::async_read_header(socket_, buffer_, parser, kTuple);
  if (!error && boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on{http::status::continue_, 11};
    co_await http::async_write(socket_, go_on, kTuple);
  }
  if (!error) std::tie(error, size) = co_await http::async_read(socket_, buffer_, parser, kTuple);
  request_ = error ? http::request<http::string_body>{} : parser.release();
  if (!error) co_return true;
  if (error == http::error::body_limit) {
    request_.keep_alive(false);
    PlainAnswer too_large{.status = 413, .body = R"({"detail":"Request Entity Too Large"})"};
    co_await send(std::move(too_large));
  }
  co_return false;
}

net::awaitable<bool> Session::answer() {
  const std::string_view target = request_.target();
  const std::string path(target.substr(0, target.find('?')));
  if (const auto api = api_at(path); api && request_.method() == http::verb::post)
    co_return co_await answer_api(*api);
  const std::string_view method = request_.method_string();
  PlainAnswer plain = answer_plainly(*emulation_, listen_, method, path, request_.body());
  co_return co_await send(std::move(plain));
}

net::awaitable<bool> Session::answer_api(Api api) {
  std::optional<Fault> fault = emulation_->request_came();
  if (fault && fault->kind == Fault::Kind::kStatus) {
    const ApiError error{
        .status = fault->status, .type = "InternalServerError", .message = "The emulator was told to fail."};
    PlainAnswer failed{.status = error.status, .body = error_body(api, error)};
    co_return co_await send(std::move(failed));
  }
  const Tokens context = emulation_->engine().batch().limits().context;
  auto work = plan_work(api, request_.body(), emulation_->replica().model, context);
  if (!work) {
    PlainAnswer refused{.status = work.error().status, .body = error_body(api, work.error())};
    co_return co_await send(std::move(refused));
  }
  request_.body() = {};  // what can be 128 MiB is not kept while the answer is made
  co_return co_await answer_work(*std::move(work), std::move(fault));
}

net::awaitable<bool> Session::answer_work(Work work, std::optional<Fault> fault) {
  const bool streams = work.request.stream;
  if (fault && fault->kind == Fault::Kind::kReset && (!streams || fault->after_events == 0)) {
    reset();
    co_return false;
  }
  if (fault && fault->kind == Fault::Kind::kGarbage && !streams) {
    PlainAnswer garbage{.body = std::string(kGarbageBody)};
    co_return co_await send(std::move(garbage));
  }
  Generations generations;
  for (Sequence& sequence : work.sequences) {
    // Cannot be refused: the plan keeps within the context limit.
    generations.push_back(emulation_->engine().start(std::move(sequence)));
  }
  watch(generations);
  const FinishReason reason = work.reason;
  bool keep = false;
  if (streams) {
    keep = co_await stream(generations.front(), std::move(work), std::move(fault));
  } else {
    keep = co_await wait_and_answer(generations, std::move(work));
  }
  boost::system::error_code ignored;
  socket_.cancel(ignored);  // the watch
  for (const auto& generation : generations)
    if (generation->finished()) emulation_->count(reason);
  abort(generations);
  co_return keep;
}

net::awaitable<bool> Session::stream(std::shared_ptr<Generation> generation, Work work,
                                     std::optional<Fault> fault) {
  const auto format = make_format(work.request.api, emulation_->next_answer(work.request, work.seed));
  events_sent_ = 0;
  if (!co_await send_stream_head()) co_return false;
  Usage usage{.prompt = work.prompt_tokens(), .cached = {}, .output = {}};
  for (bool opened = false; !generation->finished() || usage.output < generation->produced(); opened = true) {
    co_await generation->progress(usage.output);
    if (generation->aborted()) co_return false;
    usage.cached = generation->cached();
    if (!opened) {
      auto opening = format->opening(usage);
      if (!co_await send_events(std::move(opening), fault)) co_return false;
    }
    for (; usage.output < generation->produced(); usage.output += Tokens{1}) {
      std::string event = format->token(word(work.seed, usage.output.value));
      if (!co_await send_event(std::move(event), fault)) co_return false;
    }
  }
  auto closing = format->closing(words(work.seed, usage.output), usage, work.reason);
  if (!co_await send_events(std::move(closing), fault)) co_return false;
  co_return co_await send_last_chunk();
}

net::awaitable<bool> Session::wait_and_answer(Generations generations, Work work) {
  Usage usage{.prompt = work.prompt_tokens(), .cached = {}, .output = {}};
  for (const auto& generation : generations) {
    co_await generation->progress(kEndless);
    if (generation->aborted()) co_return false;
    usage.cached += generation->cached();
    usage.output += generation->produced();
  }
  const AnswerHead head = emulation_->next_answer(work.request, work.seed);
  PlainAnswer whole;
  whole.body =
      work.request.api == Api::kEmbeddings
          ? embeddings_body(work.request, head, usage)
          : make_format(work.request.api, head)->whole(words(work.seed, usage.output), usage, work.reason);
  co_return co_await send(std::move(whole));
}

net::awaitable<bool> Session::send(PlainAnswer plain) {
  http::response<http::string_body> response{static_cast<http::status>(plain.status), 11};
  if (!plain.content_type.empty()) response.set(http::field::content_type, plain.content_type);
  response.body() = std::move(plain.body);
  response.keep_alive(request_.keep_alive());
  response.prepare_payload();
  const auto [error, size] = co_await http::async_write(socket_, response, kTuple);
  co_return !error && request_.keep_alive();
}

net::awaitable<bool> Session::send_stream_head() {
  http::response<http::empty_body> head{http::status::ok, 11};
  head.set(http::field::content_type, "text/event-stream; charset=utf-8");
  head.keep_alive(request_.keep_alive());
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer{head};
  const auto [error, size] = co_await http::async_write_header(socket_, serializer, kTuple);
  co_return !error;
}

net::awaitable<bool> Session::send_events(std::vector<std::string> events, std::optional<Fault> fault) {
  for (std::string& event : events)
    if (!co_await send_event(std::move(event), fault)) co_return false;
  co_return true;
}

net::awaitable<bool> Session::send_event(std::string event, std::optional<Fault> fault) {
  const bool strikes = fault && fault->after_events == events_sent_++;
  if (strikes && fault->kind == Fault::Kind::kReset) {
    reset();
    co_return false;
  }
  if (strikes) event = kGarbageEvent;
  const auto chunk = http::make_chunk(net::buffer(event));
  const auto [error, size] = co_await net::async_write(socket_, chunk, kTuple);
  if (strikes) co_await send_last_chunk();
  co_return !error && !strikes;
}

net::awaitable<bool> Session::send_last_chunk() {
  const auto last = http::make_chunk_last();
  const auto [error, size] = co_await net::async_write(socket_, last, kTuple);
  co_return !error && request_.keep_alive();
}

/// Notices a client that leaves while nothing is being read or written. One that sends ahead is not watched
/// further.
void Session::watch(Generations generations) {
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this(),
                      generations = std::move(generations)](const boost::system::error_code& error) {
                       if (error || !has_gone(self->socket_)) return;
                       self->abort(generations);
                       boost::system::error_code ignored;
                       self->socket_.close(ignored);
                     });
}

void Session::abort(const Generations& generations) {
  for (const auto& generation : generations) {
    if (generation->finished() || generation->aborted()) continue;
    emulation_->engine().abort(*generation);
    emulation_->count_abort();
  }
}

/// Ends the connection the way a crashed process does.
void Session::reset() {
  boost::system::error_code ignored;
  socket_.set_option(net::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

}  // namespace

net::awaitable<void> serve(tcp::socket socket, std::shared_ptr<Emulation> emulation,
                           Emulation::Listen listen) {
  const auto session = std::make_shared<Session>(std::move(socket), std::move(emulation), std::move(listen));
  co_await session->run();
}

}  // namespace fareway::emulator
