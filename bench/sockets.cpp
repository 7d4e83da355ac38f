#include "bench/sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace fareway::bench {
namespace {

constexpr int kBacklog = 4096;
constexpr std::size_t kEventsAtOnce = 1024;
constexpr unsigned long kTimerSlackNanoseconds = 1000;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor tcp_socket() {
  Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!socket.is_open()) fail("socket");
  return socket;
}

void set_no_delay(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

IoResult result_of(ssize_t count) {
  if (count > 0) return {.bytes = static_cast<std::size_t>(count)};
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {.io = Io::kWouldBlock};
  return {.io = Io::kClosed};
}

}  // namespace

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Descriptor listen_on(std::uint16_t port) {
  Descriptor listener = tcp_socket();
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback(port);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (::listen(listener.get(), kBacklog) != 0) fail("listen");
  return listener;
}

std::uint16_t port_of(const Descriptor& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("getsockname");
  return ntohs(address.sin_port);
}

Descriptor accept_from(const Descriptor& listener) {
  Descriptor socket{::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (socket.is_open()) set_no_delay(socket);
  return socket;
}

Descriptor connect_to(std::uint16_t port) {
  Descriptor socket = tcp_socket();
  set_no_delay(socket);
  const sockaddr_in address = loopback(port);
  const int result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (result != 0 && errno != EINPROGRESS) fail("connect");
  return socket;
}

int connect_error(const Descriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

IoResult receive(const Descriptor& socket, std::span<char> into) {
  return result_of(::recv(socket.get(), into.data(), into.size(), 0));
}

IoResult transmit(const Descriptor& socket, std::string_view bytes) {
  return result_of(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), events_(kEventsAtOnce) {
  if (!epoll_.is_open()) fail("epoll_create1");
}

void Poller::watch(const Descriptor& descriptor, std::uint32_t events, std::uint64_t token) {
  epoll_event event{.events = events, .data = {.u64 = token}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor.get(), &event) != 0) fail("epoll_ctl");
}

void Poller::change(const Descriptor& descriptor, std::uint32_t events, std::uint64_t token) {
  epoll_event event{.events = events, .data = {.u64 = token}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor.get(), &event) != 0) fail("epoll_ctl");
}

std::span<const epoll_event> Poller::wait(Instant until) {
  using namespace std::chrono;
  const nanoseconds left = std::max(nanoseconds{0}, duration_cast<nanoseconds>(until - now()));
  const auto whole = duration_cast<seconds>(left);
  const timespec timeout{.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
  const int count =
      ::epoll_pwait2(epoll_.get(), events_.data(), static_cast<int>(events_.size()), &timeout, nullptr);
  if (count < 0 && errno != EINTR) fail("epoll_pwait2");
  return std::span{events_}.first(static_cast<std::size_t>(std::max(0, count)));
}

void prepare_process() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ::prctl(PR_SET_TIMERSLACK, kTimerSlackNanoseconds, 0UL, 0UL, 0UL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0UL, 0UL, 0UL);
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace fareway::bench
