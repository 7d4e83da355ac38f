#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <sys/epoll.h>
#include <utility>
#include <vector>

/// The thin layer over sockets and epoll that the benchmark's own ends use: as little of their own cost as
/// possible, so that what is measured is what stands between them. Everything stays on 127.0.0.1.
namespace fareway::bench {

/// Of the monotonic clock, which all processes of a machine share.
using Instant = std::chrono::steady_clock::time_point;
inline Instant now() {
  return std::chrono::steady_clock::now();
}

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_{-1};
};

/// Port 0 takes any free one. Throws std::system_error.
Descriptor listen_on(std::uint16_t port);
std::uint16_t port_of(const Descriptor& listener);
/// Closed where nobody waits to be accepted.
Descriptor accept_from(const Descriptor& listener);
/// The connection is under way; writable says that it stands or failed.
Descriptor connect_to(std::uint16_t port);
/// 0 where the connection stands, else the errno it failed with.
int connect_error(const Descriptor& socket);

enum class Io { kOk, kWouldBlock, kClosed };
struct IoResult {
  Io io{Io::kOk};
  std::size_t bytes{0};
};
IoResult receive(const Descriptor& socket, std::span<char> into);
IoResult transmit(const Descriptor& socket, std::string_view bytes);

/// Level-triggered epoll. `token` comes back with the event.
class Poller {
 public:
  Poller();
  void watch(const Descriptor& descriptor, std::uint32_t events, std::uint64_t token);
  void change(const Descriptor& descriptor, std::uint32_t events, std::uint64_t token);
  /// Valid until the next call; empty when `until` comes first.
  std::span<const epoll_event> wait(Instant until);

 private:
  Descriptor epoll_;
  std::vector<epoll_event> events_;
};

/// As many descriptors as the system allows, and wake-ups that are on time rather than merged.
void prepare_process();

}  // namespace fareway::bench
