#include "adapters/engines/prober.hpp"

#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "adapters/tls/tls_contexts.hpp"

namespace fareway {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using net::ip::tcp;

using Executor = net::io_context::executor_type;
using Stream = beast::basic_stream<tcp, Executor>;
using Resolver = net::ip::basic_resolver<tcp, Executor>;
using SteadyClock = TimePoint::clock;
using Timer = net::basic_waitable_timer<SteadyClock, net::wait_traits<SteadyClock>, Executor>;
using Answer = http::response<http::string_body>;
template <class T>
using Task = net::awaitable<T, Executor>;
constexpr auto kAsTuple = net::as_tuple(net::use_awaitable_t<Executor>{});

/// A large fleet page of vLLM has about 200 kB.
constexpr std::uint64_t kLargestBody = std::uint64_t{8} << 20;
constexpr std::uint32_t kLargestHead = 16 * 1024;
/// uvicorn, which most engines run on, closes connections that were idle for 5 s.
constexpr std::chrono::seconds kIdleLimit{4};

/// One request and what came of it.
struct Exchange {
  error_code error;
  bool answered{false};  ///< at least one byte came back
  Answer answer;
};

std::string what_failed(error_code error, std::string_view path, std::chrono::milliseconds timeout) {
  const std::string get = "GET " + std::string(path);
  if (error == beast::error::timeout)
    return "no answer to " + get + " within " + std::to_string(timeout.count()) + " ms";
  if (error == http::error::body_limit) return "the answer to " + get + " is larger than 8 MiB";
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return "the connection closed before the answer to " + get + " was complete";
  }
  if (error.category() == http::make_error_code(http::error::bad_version).category()) {
    return "the answer to " + get + " is not HTTP: " + error.message();
  }
  return get + " failed: " + error.message();
}

ProbeError load_unknown(ProbeError error) {
  error.healthy = true;
  return error;
}

}  // namespace

class Prober::Rounds : public std::enable_shared_from_this<Rounds> {
 public:
  Rounds(net::io_context& loop, Endpoint endpoint, const EngineAdapter& engine, Options options,
         Report report)
      : loop_(loop),
        endpoint_(std::move(endpoint)),
        engine_(engine),
        options_(options),
        report_(std::move(report)),
        resolver_(loop),
        connector_(endpoint_.tls ? TlsConnector::shared(*endpoint_.tls) : nullptr),
        stream_(loop.get_executor()),
        timer_(loop) {}

  void start() {
    if (std::exchange(started_, true)) return;
    net::co_spawn(loop_, run(shared_from_this()), [](const std::exception_ptr&) {});  // run() throws nothing
  }

  void stop() {
    stopped_ = true;
    resolver_.cancel();
    timer_.cancel();
    stream_.close();
  }

 private:
  /// Holds what it works on, so the prober may be destroyed at any time; `stopped_` is looked at after every
  /// wait.
  static Task<void> run(std::shared_ptr<Rounds> self) {
    while (!self->stopped_) {
      const TimePoint began = SteadyClock::now();
      self->deadline_ = began + self->options_.timeout;
      ProbeResult<LoadReading> outcome =
          ProbeError{"the probe failed inside the router, probably for want of memory"};
      try {
        outcome = co_await self->round();
      } catch (const std::exception&) {
        self->disconnect();
      }
      if (self->stopped_) co_return;
      self->deliver(std::move(outcome), began);
      if (self->stopped_) co_return;
      self->timer_.expires_at(began + self->options_.interval);
      co_await self->timer_.async_wait(kAsTuple);
    }
  }

  void deliver(ProbeResult<LoadReading> outcome, TimePoint began) noexcept {
    report_(std::move(outcome), began);
  }

  Task<ProbeResult<LoadReading>> round() {
    const ProbeResult<Answer> health = co_await get(engine_.health_path());
    if (!health) co_return health.error();
    const ProbeResult<Answer> load = co_await get(engine_.load_path());
    if (!load) co_return load_unknown(load.error());
    ProbeResult<LoadReading> reading = engine_.read_load(load->body());
    if (!reading) co_return load_unknown(reading.error());
    if (!engine_.capacity_path().empty()) {
      const ProbeResult<Answer> capacity = co_await get(engine_.capacity_path());
      if (capacity) engine_.read_capacity(capacity->body(), *reading);
    }
    co_return reading;
  }

  /// A 2xx answer; anything else is an error in words.
  Task<ProbeResult<Answer>> get(std::string_view path) {
    if (SteadyClock::now() - last_used_ > kIdleLimit) disconnect();
    const bool reused = connected_;
    ProbeResult<void> ready = co_await connect();
    if (!ready) co_return ready.error();
    Exchange exchange = co_await ask(path);
    // The server may have closed an idle connection just as it was taken up again: that says nothing about
    // its health.
    const bool worn_out = exchange.error && exchange.error != beast::error::timeout && !exchange.answered;
    if (reused && worn_out) {
      ready = co_await connect();
      if (!ready) co_return ready.error();
      exchange = co_await ask(path);
    }
    if (exchange.error) co_return ProbeError{what_failed(exchange.error, path, options_.timeout)};
    if (http::to_status_class(exchange.answer.result()) != http::status_class::successful) {
      co_return refusal(path, exchange.answer);
    }
    co_return std::move(exchange.answer);
  }

  /// One exchange on the open connection, which is closed where it cannot be used again.
  Task<Exchange> ask(std::string_view path) {
    Exchange exchange;
    const http::request<http::empty_body> request = request_for(path);
    http::response_parser<http::string_body> parser;
    parser.header_limit(kLargestHead);
    parser.body_limit(kLargestBody);
    stream_.expires_at(deadline_);
    if (tls_) {
      exchange.error = co_await transfer(*tls_, request, parser);
    } else {
      exchange.error = co_await transfer(stream_, request, parser);
    }
    exchange.answered = parser.got_some();
    last_used_ = SteadyClock::now();
    // Bytes after the answer belong to no question of ours: this connection is out of step.
    const bool usable = !exchange.error && parser.get().keep_alive() && buffer_.size() == 0;
    if (!usable) disconnect();
    exchange.answer = parser.release();
    co_return exchange;
  }

  template <class Transport, class Parser>
  Task<error_code> transfer(Transport& transport, const http::request<http::empty_body>& request,
                            Parser& parser) {
    const auto [write_error, written] = co_await http::async_write(transport, request, kAsTuple);
    if (write_error) co_return write_error;
    const auto [read_error, read] = co_await http::async_read(transport, buffer_, parser, kAsTuple);
    co_return read_error;
  }

  http::request<http::empty_body> request_for(std::string_view path) const {
    http::request<http::empty_body> request(http::verb::get, path, 11);
    request.set(http::field::host, endpoint_.authority());
    request.set(http::field::user_agent, "fareway");
    request.set(http::field::accept_encoding, "identity");
    if (path == engine_.load_path()) request.set(http::field::accept, "text/plain;version=0.0.4");
    if (!endpoint_.api_key.empty()) request.set(http::field::authorization, "Bearer " + endpoint_.api_key);
    return request;
  }

  ProbeError refusal(std::string_view path, const Answer& answer) const {
    std::string words = engine_.explain(answer.result_int(), answer.body());
    if (!words.empty()) return ProbeError{std::move(words)};
    words = "GET " + std::string(path) + " answered " + std::to_string(answer.result_int());
    if (answer.result() == http::status::unauthorized || answer.result() == http::status::forbidden) {
      words += endpoint_.api_key.empty() ? "; set this replica's API key" : "; check this replica's API key";
    }
    return ProbeError{std::move(words)};
  }

  /// Does nothing where a connection is open.
  Task<ProbeResult<void>> connect() {
    if (connected_) co_return ProbeResult<void>{};
    const error_code resolve_error = co_await resolve();
    if (resolve_error)
      co_return ProbeError{"cannot resolve " + endpoint_.host + ": " + resolve_error.message()};
    if (stopped_) co_return ProbeError{"stopped"};
    stream_.expires_at(deadline_);
    const auto [error, peer] = co_await stream_.async_connect(addresses_, kAsTuple);
    if (error) {
      disconnect();
      const std::string why = error == beast::error::timeout
                                  ? "no connection within " + std::to_string(options_.timeout.count()) + " ms"
                                  : error.message();
      co_return ProbeError{"cannot connect to " + endpoint_.authority() + ": " + why};
    }
    if (connector_) {
      const ProbeResult<void> secured = co_await secure();
      if (!secured) co_return secured.error();
    }
    buffer_.clear();
    last_used_ = SteadyClock::now();
    connected_ = true;
    co_return ProbeResult<void>{};
  }

  Task<ProbeResult<void>> secure() {
    tls_.emplace(stream_, connector_->context());
    connector_->prepare(tls_->native_handle(), endpoint_.host);
    const auto [error] = co_await tls_->async_handshake(net::ssl::stream_base::client, kAsTuple);
    if (!error) co_return ProbeResult<void>{};
    std::string why = certificate_complaint(tls_->native_handle());
    why = why.empty() ? "no TLS with " + endpoint_.authority() + ": " + error.message()
                      : "the certificate of " + endpoint_.authority() + " is not accepted: " + why +
                            "; see tls.ca and tls.server_name of its pool";
    disconnect();
    co_return ProbeError{std::move(why)};
  }

  /// Fills `addresses_`. A look-up cannot be interrupted, so it runs beside the round, which waits for it no
  /// longer than its deadline; a later round takes up the same look-up.
  Task<error_code> resolve() {
    error_code not_an_address;
    const net::ip::address address = net::ip::make_address(endpoint_.host, not_an_address);
    if (!not_an_address) {
      addresses_.assign(1, tcp::endpoint(address, endpoint_.port));
      co_return error_code{};
    }
    if (!std::exchange(resolving_, true)) {
      resolver_.async_resolve(
          endpoint_.host, std::to_string(endpoint_.port),
          [self = shared_from_this()](error_code error, const tcp::resolver::results_type& found) {
            self->resolved(error, found);
          });
    }
    timer_.expires_at(deadline_);
    co_await timer_.async_wait(kAsTuple);
    co_return resolving_ ? make_error_code(net::error::timed_out) : resolve_error_;
  }

  void resolved(error_code error, const tcp::resolver::results_type& found) {
    resolving_ = false;
    resolve_error_ = error;
    addresses_.assign(found.begin(), found.end());
    timer_.cancel();
  }

  void disconnect() {
    connected_ = false;
    tls_.reset();
    stream_.close();
    buffer_.clear();
  }

  net::io_context& loop_;
  const Endpoint endpoint_;
  const EngineAdapter& engine_;
  const Options options_;
  const Report report_;

  Resolver resolver_;
  std::vector<tcp::endpoint> addresses_;
  error_code resolve_error_;
  bool resolving_{false};

  const std::shared_ptr<const TlsConnector> connector_;  // nothing for plain HTTP
  Stream stream_;
  std::optional<net::ssl::stream<Stream&>> tls_;  // over `stream_`, while connected
  beast::flat_buffer buffer_;
  bool connected_{false};
  TimePoint last_used_;

  Timer timer_;
  TimePoint deadline_;
  bool started_{false};
  bool stopped_{false};
};

Prober::Prober(net::io_context& loop, Endpoint endpoint, const EngineAdapter& engine, Options options,
               Report report)
    : rounds_(std::make_shared<Rounds>(loop, std::move(endpoint), engine, options, std::move(report))) {}

// Cancelling a timer is declared to throw and has nothing to fail on.
// NOLINTNEXTLINE(bugprone-exception-escape)
Prober::~Prober() {
  rounds_->stop();
}

void Prober::start() {
  rounds_->start();
}

}  // namespace fareway
