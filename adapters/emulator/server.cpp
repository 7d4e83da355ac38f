#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "adapters/emulator/emulation.hpp"
#include "adapters/emulator/emulator.hpp"
#include "adapters/emulator/session.hpp"

namespace fareway {
namespace {

namespace net = boost::asio;
using net::ip::tcp;

constexpr std::chrono::milliseconds kAcceptRetry{10};  // where the process is out of file descriptors

}  // namespace

/// The listening socket. Connections are tasks of their own: `Emulation` knows their sockets, and closing
/// those ends them.
class EmulatedEngine::Server : public std::enable_shared_from_this<EmulatedEngine::Server> {
 public:
  Server(net::io_context& loop, EmulatedReplica replica)
      : loop_(loop),
        emulation_(std::make_shared<emulator::Emulation>(loop, std::move(replica))),
        acceptor_(loop) {}

  void start() {
    const EmulatedReplica& replica = emulation_->replica();
    try {
      if (!bound_) {
        tcp::resolver resolver(loop_);
        const std::string port = std::to_string(replica.listen_port);
        bound_ = resolver.resolve(replica.listen_host, port, tcp::resolver::passive).begin()->endpoint();
      }
      listen();
    } catch (const boost::system::system_error& error) {
      close();
      throw std::runtime_error("cannot listen on " + replica.listen_host + ":" +
                               std::to_string(replica.listen_port) + ": " + error.code().message());
    }
  }

  void stop() {
    close();
    emulation_->shut_down();
  }

  std::uint16_t port() const { return bound_ ? bound_->port() : emulation_->replica().listen_port; }

 private:
  void listen() {
    if (acceptor_.is_open()) return;
    acceptor_.open(bound_->protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(*bound_);
    acceptor_.listen();
    bound_ = acceptor_.local_endpoint();
    net::co_spawn(loop_, accept(shared_from_this()), net::detached);
  }

  void close() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }

  /// Opens or closes the socket for a fault. A port that has been taken meanwhile stays lost.
  emulator::Emulation::Listen listen_switch() {
    return [weak = weak_from_this()](bool open) {
      const auto self = weak.lock();
      if (!self) return;
      try {
        open ? self->listen() : self->close();
      } catch (const boost::system::system_error&) {
        self->close();
      }
    };
  }

  static net::awaitable<void> accept(std::shared_ptr<Server> self) {
    while (self->acceptor_.is_open()) {
      auto [error, socket] = co_await self->acceptor_.async_accept(net::as_tuple(net::use_awaitable));
      if (error == net::error::operation_aborted) co_return;
      if (error) {
        net::steady_timer pause(self->loop_, kAcceptRetry);
        co_await pause.async_wait(net::as_tuple(net::use_awaitable));
        continue;
      }
      net::co_spawn(self->loop_, emulator::serve(std::move(socket), self->emulation_, self->listen_switch()),
                    net::detached);
    }
  }

  net::io_context& loop_;
  std::shared_ptr<emulator::Emulation> emulation_;
  tcp::acceptor acceptor_;
  std::optional<tcp::endpoint> bound_;
};

EmulatedEngine::EmulatedEngine(net::io_context& loop, EmulatedReplica replica)
    : server_(std::make_shared<Server>(loop, std::move(replica))) {}

EmulatedEngine::~EmulatedEngine() {
  server_->stop();
}

void EmulatedEngine::start() {
  server_->start();
}

void EmulatedEngine::stop() {
  server_->stop();
}

std::uint16_t EmulatedEngine::port() const {
  return server_->port();
}

}  // namespace fareway
