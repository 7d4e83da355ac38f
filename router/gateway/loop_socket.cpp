#include "router/gateway/loop_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/err.h>

namespace fareway {

namespace {

constexpr std::size_t kMaxParts = 16;
constexpr std::size_t kMaxRecord = 16u << 10;  // plain bytes of one TLS record (RFC 8446, 5.1)

ErrorCode last_error() {
  return {errno, boost::system::system_category()};
}

int make_set() {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) throw std::system_error(errno, std::generic_category(), "cannot watch sockets");
  return set;
}

/// What one record may hold of `parts`, from `offset` of their bytes on.
void gather(std::span<const std::string_view> parts, std::size_t offset, std::string& record) {
  record.clear();
  for (const std::string_view part : parts) {
    const std::size_t skipped = std::min(offset, part.size());
    offset -= skipped;
    record.append(part.substr(skipped, kMaxRecord - record.size()));
  }
}

}  // namespace

std::shared_ptr<ReadySet> ReadySet::make(net::io_context& loop) {
  return std::shared_ptr<ReadySet>(new ReadySet(loop));
}

ReadySet::ReadySet(net::io_context& loop) : set_(loop.get_executor(), make_set()) {}

ErrorCode ReadySet::add(LoopSocket& socket) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &socket;
  if (::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, socket.native_handle(), &event) != 0)
    return last_error();
  ++sockets_;
  await();
  return {};
}

/// Closing a socket takes it out of the set; what the batch still holds of it must not be told.
void ReadySet::forget(const LoopSocket& socket) {
  --sockets_;
  const std::span<epoll_event> batch(batch_.data(), batch_size_);
  for (epoll_event& event : batch) {
    if (event.data.ptr == &socket) event.data.ptr = nullptr;
  }
}

/// Keeps the loop busy only while there are sockets.
void ReadySet::await() {
  if (awaiting_ || sockets_ == 0) return;
  awaiting_ = true;
  set_.async_wait(set_.wait_read, [weak = weak_from_this()](const ErrorCode& ec) {
    const auto self = weak.lock();
    if (ec || !self) return;
    self->awaiting_ = false;
    self->dispatch();
    self->await();
  });
}

void ReadySet::dispatch() {
  const int got = ::epoll_wait(set_.native_handle(), batch_.data(), static_cast<int>(batch_.size()), 0);
  batch_size_ = static_cast<std::size_t>(std::max(got, 0));
  for (std::size_t i = 0; i < batch_size_; ++i) {
    if (batch_[i].data.ptr != nullptr) static_cast<LoopSocket*>(batch_[i].data.ptr)->tell(batch_[i].events);
  }
  batch_size_ = 0;
}

ErrorCode LoopSocket::open(Socket socket) {
  ErrorCode ec;
  socket.non_blocking(true, ec);
  if (!ec) descriptor_ = socket.release(ec);
  if (ec) return ec;
  ec = set_.add(*this);
  if (ec) ::close(std::exchange(descriptor_, -1));
  return ec;
}

std::size_t LoopSocket::read_some(std::span<char> room, ErrorCode& ec) {
  if (tls_) return read_tls(room, ec);
  ec = {};
  const auto got = ::recv(descriptor_, room.data(), room.size(), 0);
  if (got < 0) {
    ec = last_error();
    readable_ = !is_would_block(ec);
    return 0;
  }
  if (got == 0) ec = net::error::eof;
  // Where a read was short the next bytes raise an event; an end that came with them raised its event
  // already.
  readable_ = got == 0 || ended_ || static_cast<std::size_t>(got) == room.size();
  return static_cast<std::size_t>(got);
}

std::size_t LoopSocket::write_some(std::span<const std::string_view> parts, ErrorCode& ec) {
  if (tls_) return write_tls(parts, ec);
  ec = {};
  std::array<iovec, kMaxParts> vectors{};
  const std::size_t count = std::min(parts.size(), kMaxParts);
  std::size_t offered = 0;
  for (std::size_t i = 0; i < count; ++i) {
    vectors[i] = {const_cast<char*>(parts[i].data()), parts[i].size()};  // NOLINT: the kernel only reads
    offered += parts[i].size();
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  const auto sent = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
  if (sent < 0) {
    ec = last_error();
    writable_ = !is_would_block(ec);
    return 0;
  }
  writable_ = static_cast<std::size_t>(sent) == offered;
  return static_cast<std::size_t>(sent);
}

/// What is decrypted already raises no event, so only "nothing there" makes the socket unreadable.
std::size_t LoopSocket::read_tls(std::span<char> room, ErrorCode& ec) {
  ec = {};
  std::size_t got = 0;
  ERR_clear_error();
  const int result = SSL_read_ex(tls_.get(), room.data(), room.size(), &got);
  readable_ = true;
  if (result == 1) return got;
  ec = tls_error(result);
  readable_ = !is_would_block(ec);
  if (!readable_ && SSL_want_write(tls_.get())) {
    read_needs_room_ = true;
    writable_ = false;
  }
  return 0;
}

/// A record as large as may be, one after the other. Of a record that the socket did not take wholly OpenSSL
/// wants the same bytes offered again: so they count as not written.
std::size_t LoopSocket::write_tls(std::span<const std::string_view> parts, ErrorCode& ec) {
  ec = {};
  std::size_t sent = 0;
  for (;;) {
    gather(parts, sent, set_.record_);
    if (set_.record_.empty()) return sent;
    std::size_t taken = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(tls_.get(), set_.record_.data(), set_.record_.size(), &taken);
    if (result != 1) {
      const ErrorCode failed = tls_error(result);
      writable_ = !is_would_block(failed);
      if (sent == 0) ec = failed;
      return sent;
    }
    writable_ = true;
    sent += taken;
  }
}

/// Of the call that just failed.
ErrorCode LoopSocket::tls_error(int result) {
  const int system = errno;
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_WRITE:
    case SSL_ERROR_WANT_READ:
      return net::error::would_block;
    case SSL_ERROR_ZERO_RETURN:
      return net::error::eof;
    case SSL_ERROR_SYSCALL:
      tls_failed_ = true;
      return system != 0 ? ErrorCode{system, boost::system::system_category()} : net::error::connection_reset;
    default:
      tls_failed_ = true;
      return {static_cast<int>(ERR_get_error()), net::error::get_ssl_category()};
  }
}

Task<ErrorCode> LoopSocket::handshake() {
  while (is_open()) {
    ERR_clear_error();
    const int result = SSL_do_handshake(tls_.get());
    if (result == 1) {
      readable_ = true;  // the first bytes may have come with the handshake's last
      co_return ErrorCode{};
    }
    const ErrorCode failed = tls_error(result);
    if (!is_would_block(failed)) co_return failed;
    ErrorCode waited;
    if (SSL_want_write(tls_.get())) {
      writable_ = false;
      std::tie(waited) = co_await writable();
    } else {
      readable_ = false;
      std::tie(waited) = co_await readable();
    }
    if (waited) co_return waited;
  }
  co_return net::error::operation_aborted;
}

std::string LoopSocket::certificate_complaint() const {
  return tls_ ? fareway::certificate_complaint(tls_.get()) : std::string();
}

Task<std::tuple<ErrorCode>> LoopSocket::wait(Waiter& side, const bool& ready) {
  return net::async_initiate<decltype(kAwait), void(ErrorCode)>(
      [this, &side, &ready](auto handler) { start(side, ready, Waiter(std::move(handler))); }, kAwait);
}

void LoopSocket::start(Waiter& side, bool ready, Waiter waiter) {
  side = std::move(waiter);
  // An initiating function must not resume who called it.
  if (!is_open()) return finish(side, net::error::operation_aborted);
  if (ready) finish(side, {});
}

void LoopSocket::finish(Waiter& side, const ErrorCode& ec) {
  if (!side) return;
  net::post(set_.executor(), [waiter = std::move(side), ec]() mutable { waiter(ec); });
}

/// Resuming a coroutine may destroy the socket, so that comes last.
void LoopSocket::tell(std::uint32_t events) {
  const bool failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if (failed || (events & EPOLLRDHUP) != 0) ended_ = true;
  if (failed || (events & EPOLLOUT) != 0) {
    writable_ = true;
    finish(writer_, {});
    if (std::exchange(read_needs_room_, false)) events |= EPOLLIN;
  }
  if (!ended_ && (events & EPOLLIN) == 0) return;
  readable_ = true;
  if (hook_ && !hook_()) return;
  if (!reader_) return;
  Waiter reader = std::move(reader_);
  reader({});
}

void LoopSocket::cancel() {
  finish(reader_, net::error::operation_aborted);
  finish(writer_, net::error::operation_aborted);
}

void LoopSocket::close() {
  if (!is_open()) return;
  if (tls_ && !tls_failed_)
    SSL_shutdown(tls_.get());  // says farewell where there is room, and waits for nothing
  tls_.reset();
  set_.forget(*this);
  ::close(std::exchange(descriptor_, -1));
  cancel();
}

void LoopSocket::shutdown_send(ErrorCode& ec) {
  ec = {};
  if (tls_ && !tls_failed_) SSL_shutdown(tls_.get());
  if (::shutdown(descriptor_, SHUT_WR) != 0) ec = last_error();
}

void remove_front(std::span<std::string_view> parts, std::size_t bytes) {
  for (std::string_view& part : parts) {
    const std::size_t taken = std::min(bytes, part.size());
    part.remove_prefix(taken);
    bytes -= taken;
  }
}

}  // namespace fareway
