#include <cassert>
#include <memory>
#include <stdexcept>
#include <sys/socket.h>
#include <unordered_map>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "router/gateway/gateway.hpp"
#include "router/gateway/session.hpp"

namespace fareway {

namespace {

using Acceptor = net::basic_socket_acceptor<net::ip::tcp, Executor>;
using Timer = net::basic_waitable_timer<std::chrono::steady_clock,
                                        net::wait_traits<std::chrono::steady_clock>, Executor>;

constexpr std::chrono::milliseconds kAcceptPause{100};

TimePoint now() {
  return std::chrono::steady_clock::now();
}

[[noreturn]] void cannot_listen(const ListenAddress& address, const ErrorCode& ec) {
  const bool in_use = ec == net::error::address_in_use;
  throw std::runtime_error("cannot listen on " + address.host + ":" + std::to_string(address.port) + ": " +
                           (in_use ? "address in use by another process" : ec.message()));
}

}  // namespace

/// Accepts connections and owns their sessions: a session's coroutine is the only task here, and it is
/// counted.
class Gateway::Front : public std::enable_shared_from_this<Front> {
 public:
  Front(net::io_context& loop, GatewayParts parts)
      : state_(std::make_shared<LoopState>(loop, parts)),
        acceptor_(loop.get_executor()),
        pause_(loop.get_executor()),
        ticker_(loop.get_executor()) {}

  void start(std::optional<int> listener) {
    if (listener) {
      take_over(*listener);
    } else {
      listen();
    }
    port_ = acceptor_.local_endpoint().port();
    accept();
    tick();
  }

  std::uint16_t port() const { return port_; }
  const AdmissionQueue& queue() const { return state_->room.queue(); }

  void reload_certificates() { state_->tls = make_acceptor(state_->parts.config.tls); }

  void drain(std::function<void()> drained) {
    state_->draining = true;
    drained_ = std::move(drained);
    stop_accepting();
    for (const auto& [_, session] : sessions_) session->drain();
    announce_if_drained();
  }

  std::size_t cut() {
    state_->draining = true;
    stop_accepting();
    std::size_t exchanges = 0;
    for (const auto& [_, session] : sessions_) exchanges += session->cut() ? 1 : 0;
    return exchanges;
  }

  /// The gateway is going: nothing of it may touch its parts again, whether the loop runs on or not.
  void abandon() {
    stop_accepting();
    drained_ = nullptr;
    gone_ = true;
    ticker_.cancel();
    for (const auto& [_, session] : sessions_) session->abandon();
    state_->desk.abandon();
    state_->room.abandon();
    state_->pool.clear();
  }

 private:
  void listen() {
    const ListenAddress& address = state_->parts.config.listen;
    ErrorCode ec;
    const auto ip = net::ip::make_address(address.host, ec);
    if (ec) cannot_listen(address, ec);
    const net::ip::tcp::endpoint endpoint(ip, address.port);
    acceptor_.open(endpoint.protocol(), ec);
    // Not SO_REUSEPORT: a second process on this port must fail loudly instead of taking half the
    // connections.
    if (!ec) acceptor_.set_option(net::socket_base::reuse_address(true), ec);
    if (!ec) acceptor_.bind(endpoint, ec);
    if (!ec) acceptor_.listen(net::socket_base::max_listen_connections, ec);
    if (ec) cannot_listen(address, ec);
  }

  /// Whoever made the socket chose address and backlog.
  void take_over(int listener) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    ErrorCode ec;
    acceptor_.assign(address.ss_family == AF_INET6 ? net::ip::tcp::v6() : net::ip::tcp::v4(), listener, ec);
    if (ec) throw std::runtime_error("cannot use the socket handed over: " + ec.message());
  }

  void accept() {
    const bool full = sessions_.size() >= state_->parts.config.limits.max_connections;
    accepting_ = acceptor_.is_open() && !full;
    if (!accepting_) return;
    acceptor_.async_accept([self = shared_from_this()](const ErrorCode& ec, Socket socket) {
      if (self->gone_ || ec == net::error::operation_aborted) return;
      if (!ec) {
        self->open(std::move(socket));
        self->accept();
      } else {
        self->pause();
      }
    });
  }

  /// Out of descriptors, most likely: the connection stays in the backlog, and trying again at once would
  /// spin.
  void pause() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([self = shared_from_this()](const ErrorCode& ec) {
      if (!ec && !self->gone_) self->accept();
    });
  }

  void open(Socket socket) {
    auto session = std::make_shared<Session>(state_, std::move(socket));
    Session* const key = session.get();
    sessions_.emplace(key, session);
    state_->parts.metrics.client_connections(sessions_.size());
    net::co_spawn(
        acceptor_.get_executor(), session->run(),
        [self = shared_from_this(), session](const std::exception_ptr&) { self->closed(session.get()); });
  }

  /// However it ended: an exception out of a session (out of memory) costs that connection only.
  void closed(Session* session) {
    sessions_.erase(session);
    if (gone_) return;
    state_->parts.metrics.client_connections(sessions_.size());
    if (!accepting_) accept();
    announce_if_drained();
  }

  void stop_accepting() {
    ErrorCode ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  }

  void announce_if_drained() {
    if (!drained_ || !sessions_.empty()) return;
    ticker_.cancel();
    stopped_ = true;
    state_->pool.clear();
    net::post(acceptor_.get_executor(), std::exchange(drained_, nullptr));
  }

  void tick() {
    if (gone_ || stopped_) return;
    ticker_.expires_after(Deadline::kTick);
    ticker_.async_wait([self = shared_from_this()](const ErrorCode& ec) {
      if (ec || self->gone_) return;
      const TimePoint time = now();
      for (const auto& [_, session] : self->sessions_) session->tick(time);
      self->state_->room.tick(time);
      self->state_->pool.expire(time);
      self->tick();
    });
  }

  std::shared_ptr<LoopState> state_;
  Acceptor acceptor_;
  Timer pause_;
  Timer ticker_;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;
  std::function<void()> drained_;
  std::uint16_t port_{0};
  bool accepting_{false};
  bool stopped_{false};
  bool gone_{false};
};

Gateway::Gateway(net::io_context& loop, GatewayParts parts) : front_(std::make_shared<Front>(loop, parts)) {}
Gateway::~Gateway() {
  front_->abandon();
}

void Gateway::start(std::optional<int> listener) {
  front_->start(listener);
}
std::uint16_t Gateway::port() const {
  return front_->port();
}
void Gateway::reload_certificates() {
  front_->reload_certificates();
}
void Gateway::drain(std::function<void()> drained) {
  front_->drain(std::move(drained));
}
const AdmissionQueue& Gateway::queue() const {
  return std::as_const(*front_).queue();
}
std::size_t Gateway::cut() {
  return front_->cut();
}

}  // namespace fareway
