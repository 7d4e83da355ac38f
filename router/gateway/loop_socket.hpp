#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/epoll.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "adapters/tls/tls_contexts.hpp"
#include "router/gateway/net.hpp"
#include "router/gateway/waiter.hpp"

namespace fareway {

class LoopSocket;

/// Tells the sockets of one loop when they became readable or writable: an edge-triggered epoll set, which
/// the loop watches as one descriptor. A socket costs a system call when it is opened and none for a wait,
/// where the loop's own reactor rearms at each. Owned by a shared pointer; outlives its sockets; one thread.
class ReadySet : public std::enable_shared_from_this<ReadySet> {
 public:
  /// Throws std::system_error where the system gives no epoll set.
  static std::shared_ptr<ReadySet> make(net::io_context& loop);

  Executor executor() { return set_.get_executor(); }

 private:
  friend class LoopSocket;
  explicit ReadySet(net::io_context& loop);
  ErrorCode add(LoopSocket& socket);
  void forget(const LoopSocket& socket);
  void await();
  void dispatch();

  net::posix::basic_stream_descriptor<Executor> set_;
  std::array<epoll_event, 256> batch_{};
  std::size_t batch_size_{0};  // events of the batch being told; 0 otherwise
  std::size_t sockets_{0};
  bool awaiting_{false};
  std::string record_;  // what a TLS write gathers before it is encrypted; shared, since no socket keeps it
};

/// A connected stream socket, plain or with TLS, never blocking. One coroutine may wait for reading and one
/// for writing; a hook may look at the socket first each time it becomes readable. Stays where it was made.
class LoopSocket {
 public:
  using Hook = std::function<bool()>;

  /// `set` outlives the socket.
  explicit LoopSocket(ReadySet& set) : set_(set) {}
  ~LoopSocket() { close(); }
  LoopSocket(const LoopSocket&) = delete;
  LoopSocket& operator=(const LoopSocket&) = delete;

  /// Takes a connected socket over from Asio.
  ErrorCode open(Socket socket);
  /// From here on what is read and written goes through TLS. The socket is open, and nothing waits on it.
  void secure(SslHandle tls) { tls_ = std::move(tls); }
  /// To be awaited after `secure`, before anything is read or written.
  Task<ErrorCode> handshake();
  /// Why `handshake` did not accept the peer's certificate, in words; empty where it did.
  std::string certificate_complaint() const;

  bool is_open() const { return descriptor_ >= 0; }
  int native_handle() const { return descriptor_; }

  /// One read. `ec` is would_block where nothing is there, eof at the end.
  std::size_t read_some(std::span<char> room, ErrorCode& ec);
  /// One write of as much as the socket takes; would_block where it takes nothing.
  std::size_t write_some(std::span<const std::string_view> parts, ErrorCode& ec);

  /// False where the last read has shown that nothing more is there. No event will tell of what is there
  /// while it is true: read first, then wait.
  bool maybe_readable() const { return readable_; }

  /// `auto [ec] = co_await socket.readable();` operation_aborted where it was cancelled or closed.
  Task<std::tuple<ErrorCode>> readable() { return wait(reader_, readable_); }
  Task<std::tuple<ErrorCode>> writable() { return wait(writer_, writable_); }
  /// From now on `hook` runs when the socket becomes readable, within the loop, before who waits for that;
  /// where it returns false, they go on waiting. It must not replace itself or destroy the socket.
  void on_readable(Hook hook) { hook_ = std::move(hook); }
  void no_hook() { hook_ = nullptr; }

  /// Ends waits; the socket stays open.
  void cancel();
  void close();
  void shutdown_send(ErrorCode& ec);

 private:
  friend class ReadySet;
  Task<std::tuple<ErrorCode>> wait(Waiter& side, const bool& ready);
  void start(Waiter& side, bool ready, Waiter waiter);
  void finish(Waiter& side, const ErrorCode& ec);
  void tell(std::uint32_t events);
  std::size_t read_tls(std::span<char> room, ErrorCode& ec);
  std::size_t write_tls(std::span<const std::string_view> parts, ErrorCode& ec);
  ErrorCode tls_error(int result);

  ReadySet& set_;
  int descriptor_{-1};
  bool readable_{false};
  bool writable_{true};
  bool ended_{false};            // the peer sends nothing more, or the connection has failed
  bool tls_failed_{false};       // nothing more may be said through it, not even farewell
  bool read_needs_room_{false};  // TLS has something to write before it can read on
  Waiter reader_;
  Waiter writer_;
  Hook hook_;
  SslHandle tls_;  // nothing for a plain connection
};

/// Takes the first `bytes` off the front of `parts`.
void remove_front(std::span<std::string_view> parts, std::size_t bytes);

inline bool is_would_block(const ErrorCode& ec) {
  return ec == net::error::would_block || ec == net::error::try_again;
}

}  // namespace fareway
