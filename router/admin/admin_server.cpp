#include "router/admin/admin_server.hpp"

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/rate_policy.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "router/admin/on_loop.hpp"
#include "router/admin/pages.hpp"
#include "router/admin/routes.hpp"
#include "router/admin/views.hpp"
#include "router/gateway/dry_run.hpp"

namespace fareway {

namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;

namespace {

using Socket = net::basic_stream_socket<tcp, LoopExecutor>;
using Acceptor = net::basic_socket_acceptor<tcp, LoopExecutor>;
using Stream = boost::beast::basic_stream<tcp, LoopExecutor, boost::beast::unlimited_rate_policy>;
using Request = http::request_parser<http::string_body>;

constexpr std::size_t kMostConnections = 64;
constexpr std::uint32_t kMostHeadBytes = 16 * 1024;
/// A request to explain is read on the data loop, where it must not hold up tokens for more than a
/// millisecond or two.
constexpr std::uint64_t kMostBodyBytes = 4u << 20;
constexpr std::chrono::seconds kIdleTimeout{30};
constexpr std::chrono::seconds kWriteTimeout{30};
constexpr std::chrono::milliseconds kDataLoopDeadline{2000};
constexpr std::chrono::milliseconds kAcceptBackOff{100};
const auto kAsTuple = net::as_tuple(kUseLoopAwaitable);

/// Keeps a connection in the set of open ones, however its coroutine ends.
class OpenConnection {
 public:
  OpenConnection(std::set<Stream*>& open, Stream& stream) : open_(open), stream_(stream) {
    open_.insert(&stream_);
  }
  ~OpenConnection() { open_.erase(&stream_); }
  OpenConnection(const OpenConnection&) = delete;
  OpenConnection& operator=(const OpenConnection&) = delete;

 private:
  std::set<Stream*>& open_;
  Stream& stream_;
};

/// Whether reading failed on what the client sent, rather than on its leaving.
bool malformed(const boost::system::error_code& error) {
  return error.category() == http::make_error_code(http::error::end_of_stream).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

/// A page of another site in an operator's browser sends this; browsers name the site they act for.
bool from_another_site(std::string_view origin, std::string_view host) {
  if (origin.empty()) return false;
  const auto scheme = origin.find("://");
  return scheme == std::string_view::npos || origin.substr(scheme + 3) != host;
}

AdminAnswer data_loop_busy() {
  return error_answer(503, "data loop busy: it did not answer within 2 s; try again", "data_loop_busy");
}

http::response<http::string_body> response_to(AdminAnswer answer, unsigned version, bool head,
                                              bool keep_alive) {
  http::response<http::string_body> response(http::int_to_status(static_cast<unsigned>(answer.status)),
                                             version);
  response.set(http::field::content_type, answer.content_type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  for (const auto& [name, value] : answer.headers) response.set(name, value);
  response.keep_alive(keep_alive);
  response.content_length(answer.body.size());
  if (!head) response.body() = std::move(answer.body);
  return response;
}

}  // namespace

/// Owns the listener and knows the open connections, all on the admin loop.
class AdminServer::Server : public std::enable_shared_from_this<Server> {
 public:
  Server(net::io_context& loop, AdminParts parts)
      : loop_(loop), parts_(parts), acceptor_(loop), accept_again_(loop), console_(console_page()) {}

  void start();
  void close();
  net::io_context& loop() { return loop_; }
  std::uint16_t port() const { return port_; }

 private:
  static LoopAwaitable<void> accept(std::shared_ptr<Server> self);
  static LoopAwaitable<void> serve(std::shared_ptr<Server> self, Socket socket);
  // NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): serve() owns both and awaits these
  // at once.
  LoopAwaitable<bool> exchange(Stream& stream, boost::beast::flat_buffer& buffer);
  LoopAwaitable<bool> write(Stream& stream, http::response<http::string_body> response);
  // NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)
  LoopAwaitable<AdminAnswer> answer(AdminRoute route, std::string body);
  LoopAwaitable<AdminAnswer> readiness();
  LoopAwaitable<AdminAnswer> fleet();
  LoopAwaitable<AdminAnswer> queue();
  LoopAwaitable<AdminAnswer> scaling();
  LoopAwaitable<AdminAnswer> drain(DrainQuery query, bool draining);
  LoopAwaitable<AdminAnswer> decisions(std::size_t limit);
  LoopAwaitable<AdminAnswer> decision(std::string request_id, bool text);
  LoopAwaitable<AdminAnswer> explain(ExplainQuery query, std::string body);

  net::io_context& loop_;
  AdminParts parts_;
  ShapeReader shapes_;  // used on the data loop only
  Acceptor acceptor_;
  LoopTimer accept_again_;
  std::set<Stream*> open_;
  AdminAnswer console_;
  std::uint16_t port_{0};
};

void AdminServer::Server::start() {
  const ListenAddress& listen = parts_.config.admin;
  try {
    net::ip::basic_resolver<tcp, LoopExecutor> resolver(loop_);
    const tcp::endpoint endpoint = *resolver.resolve(listen.host, std::to_string(listen.port)).begin();
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(net::socket_base::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    port_ = acceptor_.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error("admin: cannot listen on " + listen.host + ":" + std::to_string(listen.port) +
                             ": " + error.code().message());
  }
  net::co_spawn(loop_.get_executor(), accept(shared_from_this()), net::detached);
}

void AdminServer::Server::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  accept_again_.cancel();
  for (Stream* stream : open_) stream->close();
}

LoopAwaitable<void> AdminServer::Server::accept(std::shared_ptr<Server> self) {
  while (self->acceptor_.is_open()) {
    auto [error, socket] = co_await self->acceptor_.async_accept(kAsTuple);
    if (error == net::error::operation_aborted) co_return;
    if (error) {
      // Out of descriptors, most likely: the connection stays in the backlog, so asking again at once would
      // spin.
      self->accept_again_.expires_after(kAcceptBackOff);
      co_await self->accept_again_.async_wait(kAsTuple);
    } else if (self->open_.size() < kMostConnections) {
      net::co_spawn(self->loop_.get_executor(), serve(self, std::move(socket)), net::detached);
    }
  }
}

LoopAwaitable<void> AdminServer::Server::serve(std::shared_ptr<Server> self, Socket socket) {
  Stream stream(std::move(socket));
  const OpenConnection open(self->open_, stream);
  boost::beast::flat_buffer buffer;
  while (co_await self->exchange(stream, buffer)) {
  }
  boost::system::error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

/// One request and its answer; false where the connection is to be closed.
LoopAwaitable<bool> AdminServer::Server::exchange(Stream& stream, boost::beast::flat_buffer& buffer) {
  Request parser;
  parser.header_limit(kMostHeadBytes);
  parser.body_limit(kMostBodyBytes);
  stream.expires_after(kIdleTimeout);
  const auto [error, bytes] = co_await http::async_read(stream, buffer, parser, kAsTuple);
  if (malformed(error)) {
    auto refusal =
        response_to(error_answer(400, "not a request for this listener: " + error.message(), "bad_request"),
                    11, false, false);
    co_return co_await write(stream, std::move(refusal));
  }
  if (error) co_return false;

  const auto& request = parser.get();
  const bool head = request.method() == http::verb::head;
  const std::string_view method(request.method_string().data(), request.method_string().size());
  const std::string_view target(request.target().data(), request.target().size());
  const auto field = [&](http::field name) {
    return std::string_view(request[name].data(), request[name].size());
  };
  auto routed = route_admin(method, target);
  AdminAnswer result;
  if (method == "POST" && from_another_site(field(http::field::origin), field(http::field::host))) {
    result = error_answer(403, "requests of other sites' pages are not taken", "cross_site");
  } else if (auto* refusal = std::get_if<AdminAnswer>(&routed)) {
    result = std::move(*refusal);
  } else {
    result = co_await answer(std::get<AdminRoute>(std::move(routed)), std::move(parser.get().body()));
  }
  co_return co_await write(stream,
                           response_to(std::move(result), request.version(), head, request.keep_alive()));
}

LoopAwaitable<bool> AdminServer::Server::write(Stream& stream, http::response<http::string_body> response) {
  stream.expires_after(kWriteTimeout);
  http::response_serializer<http::string_body> serializer(response);
  const auto [error, bytes] = co_await http::async_write(stream, serializer, kAsTuple);
  co_return !error && response.keep_alive();
}

LoopAwaitable<AdminAnswer> AdminServer::Server::answer(AdminRoute route, std::string body) {
  switch (route.page) {
    case AdminPage::kConsole:
      co_return console_;
    case AdminPage::kMetrics:
      co_return metrics_page(parts_.registry);
    case AdminPage::kHealth:
      co_return health_page();
    case AdminPage::kReady:
      co_return co_await readiness();
    case AdminPage::kFleet:
      co_return co_await fleet();
    case AdminPage::kQueue:
      co_return co_await queue();
    case AdminPage::kScaling:
      co_return co_await scaling();
    case AdminPage::kDrain:
    case AdminPage::kUndrain:
      co_return co_await drain(std::move(route.drain), route.page == AdminPage::kDrain);
    case AdminPage::kDecisions:
      co_return co_await decisions(route.limit);
    case AdminPage::kDecision:
      co_return co_await decision(std::move(route.request_id), route.text);
    case AdminPage::kExplain:
      co_return co_await explain(std::move(route.explain), std::move(body));
  }
  co_return error_answer(404, "there is no such page", "not_found");
}

LoopAwaitable<AdminAnswer> AdminServer::Server::readiness() {
  auto read = [&live = parts_.fleet] { return serving_by_model(live.fleet()); };
  auto serving = co_await on_loop(parts_.data_loop, std::move(read), kDataLoopDeadline);
  const Readiness readiness{.draining = parts_.draining.load(),
                            .ledger_backlog = parts_.ledger.backlog(),
                            .ledger_trouble = parts_.ledger.trouble(),
                            .serving = std::move(serving)};
  co_return readiness_page(readiness, parts_.config.fleet);
}

LoopAwaitable<AdminAnswer> AdminServer::Server::fleet() {
  auto read = [&live = parts_.fleet, &throughput = parts_.throughput] {
    return view_of(live, throughput, std::chrono::steady_clock::now(), std::chrono::system_clock::now());
  };
  const auto view = co_await on_loop(parts_.data_loop, std::move(read), kDataLoopDeadline);
  co_return view ? fleet_page(*view, parts_.config.fleet) : data_loop_busy();
}

LoopAwaitable<AdminAnswer> AdminServer::Server::queue() {
  auto read = [this] {
    return parts_.gateway == nullptr ? std::vector<QueueView>{}
                                     : view_of(parts_.gateway->queue(), parts_.config.fleet);
  };
  const auto waiting = co_await on_loop(parts_.data_loop, std::move(read), kDataLoopDeadline);
  co_return waiting ? queue_page(*waiting, parts_.config.fleet) : data_loop_busy();
}

LoopAwaitable<AdminAnswer> AdminServer::Server::scaling() {
  struct View {
    std::vector<FleetAdvice> advice;
    std::vector<Usd> misses;
  };
  auto read = [this] {
    View view;
    if (parts_.scaling == nullptr) return view;
    view.advice = parts_.scaling->standing();
    for (std::uint32_t i = 0; i < parts_.config.fleet.models.size(); ++i)
      view.misses.push_back(parts_.scaling->misses_per_second({i}));
    return view;
  };
  const auto view = co_await on_loop(parts_.data_loop, std::move(read), kDataLoopDeadline);
  if (!view) co_return data_loop_busy();
  co_return scaling_page(view->advice, view->misses, parts_.config.fleet, std::chrono::steady_clock::now());
}

/// Requests in flight go on; what nobody else serves is refused from now on.
LoopAwaitable<AdminAnswer> AdminServer::Server::drain(DrainQuery query, bool draining) {
  std::vector<ReplicaIndex> concerned;
  const Fleet& names = parts_.config.fleet;
  for (std::uint32_t i = 0; i < names.replicas.size(); ++i) {
    const Replica& replica = names.replicas[i];
    if (replica.name == query.replica || names[replica.pool].name == query.pool) concerned.push_back({i});
  }
  if (concerned.empty()) {
    co_return error_answer(404,
                           query.pool.empty() ? "no replica is called '" + query.replica + "'"
                                              : "no pool with a replica is called '" + query.pool + "'",
                           "not_found");
  }
  auto change = [&live = parts_.fleet, concerned = std::move(concerned), draining] {
    std::vector<Drained> drained;
    for (const ReplicaIndex index : concerned) {
      live.set_draining(index, draining, std::chrono::steady_clock::now());
      drained.push_back({index, draining, live.fleet()[index].in_flight.size()});
    }
    return drained;
  };
  const auto drained = co_await on_loop(parts_.data_loop, std::move(change), kDataLoopDeadline);
  co_return drained ? drain_page(*drained, parts_.config.fleet) : data_loop_busy();
}

LoopAwaitable<AdminAnswer> AdminServer::Server::decisions(std::size_t limit) {
  auto read = [&log = parts_.decisions, limit] {
    std::vector<DecisionRecord> copies;
    for (const auto& record : log.latest(limit)) copies.push_back(view_of(*record));
    return copies;
  };
  const auto records = co_await on_loop(parts_.data_loop, std::move(read), kDataLoopDeadline);
  co_return records ? decisions_page(*records, parts_.config.fleet) : data_loop_busy();
}

LoopAwaitable<AdminAnswer> AdminServer::Server::decision(std::string request_id, bool text) {
  auto read = [&log = parts_.decisions,
               request_id = std::move(request_id)]() -> std::optional<DecisionRecord> {
    const auto record = log.find(request_id);
    return record ? std::optional(view_of(*record)) : std::nullopt;
  };
  const auto found = co_await on_loop(parts_.data_loop, std::move(read), kDataLoopDeadline);
  if (!found) co_return data_loop_busy();
  if (!*found)
    co_return error_answer(404, "no decision with this request id; only the latest few thousand are kept",
                           "not_found");
  if (text) co_return decision_text_page(**found, parts_.config.fleet);
  co_return decision_page(**found, parts_.config.fleet);
}

LoopAwaitable<AdminAnswer> AdminServer::Server::explain(ExplainQuery query, std::string body) {
  DryRunRequest request{.path = query.path.empty() ? DryRunRequest{}.path : std::move(query.path),
                        .key_id = std::move(query.key),
                        .service_class = std::move(query.service_class),
                        .session = std::move(query.session),
                        .body = std::move(body)};
  auto decide = [self = shared_from_this(), request = std::move(request)]() mutable {
    return dry_run(std::move(request), self->parts_.config, self->parts_.fleet, self->shapes_,
                   std::chrono::steady_clock::now(), std::chrono::system_clock::now());
  };
  const auto decided = co_await on_loop(parts_.data_loop, std::move(decide), kDataLoopDeadline);
  if (!decided) co_return data_loop_busy();
  if (!*decided) co_return error_answer(decided->error().status, decided->error().message, "refused");
  co_return decision_text_page(**decided, parts_.config.fleet);
}

AdminServer::AdminServer(net::io_context& loop, AdminParts parts)
    : server_(std::make_shared<Server>(loop, parts)) {}
AdminServer::~AdminServer() {
  stop();
}

void AdminServer::start() {
  server_->start();
}

void AdminServer::stop() {
  net::post(server_->loop(), [server = server_] { server->close(); });
}

std::uint16_t AdminServer::port() const {
  return server_->port();
}

}  // namespace fareway
