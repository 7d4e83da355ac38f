#include "router/gateway/client_stream.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>

namespace fareway {

namespace {

constexpr std::size_t kMaxPipelined = 64u << 10;
constexpr std::size_t kMaxDrained = 1u << 20;
constexpr std::size_t kMaxParts = 16;

bool is_would_block(const ErrorCode& ec) {
  return ec == net::error::would_block || ec == net::error::try_again;
}

}  // namespace

ClientStream::ClientStream(Socket socket, const Limits& limits, Deadline& deadline, std::span<char> scratch)
    : socket_(std::move(socket)), limits_(limits), deadline_(deadline), scratch_(scratch) {
  ErrorCode ignored;  // a connection that is already gone shows at the first read
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
}

Task<bool> ClientStream::read() {
  for (;;) {
    auto [waited] = co_await socket_.async_wait(Socket::wait_read, kAwait);
    if (waited) co_return false;
    ErrorCode ec;
    const std::size_t got = socket_.read_some(net::buffer(scratch_.data(), scratch_.size()), ec);
    if (is_would_block(ec)) continue;  // the watch took them first, or nothing was there
    if (ec) co_return false;
    input_.append(scratch_.data(), got);
    co_return true;
  }
}

Task<bool> ClientStream::write(std::string_view bytes) {
  const std::array parts{bytes};
  co_return co_await write_parts(parts);
}

Task<bool> ClientStream::write_parts(std::span<const std::string_view> parts) {
  std::string rest;
  if (parts.size() > kMaxParts) {
    for (const std::string_view part : parts) rest.append(part);
    co_return co_await write_rest(std::move(rest));
  }
  std::array<net::const_buffer, kMaxParts> buffers{};
  std::transform(parts.begin(), parts.end(), buffers.begin(),
                 [](std::string_view part) { return net::const_buffer(part.data(), part.size()); });
  const std::span<const net::const_buffer> all(buffers.data(), parts.size());
  ErrorCode ec;
  std::size_t sent = socket_.write_some(all, ec);
  if (ec && !is_would_block(ec)) co_return false;
  if (ec) sent = 0;
  for (const std::string_view part : parts) {
    const std::size_t skipped = std::min(sent, part.size());
    rest.append(part.substr(skipped));
    sent -= skipped;
  }
  if (rest.empty()) co_return true;
  co_return co_await write_rest(std::move(rest));
}

Task<bool> ClientStream::write_rest(std::string rest) {
  std::string_view left = rest;
  while (!left.empty()) {
    deadline_.set(Wait::kClientWrite, std::chrono::steady_clock::now() + limits_.write_stall_timeout);
    auto [ec, sent] = co_await socket_.async_write_some(net::buffer(left.data(), left.size()), kAwait);
    if (ec) co_return false;
    left.remove_prefix(sent);
  }
  deadline_.clear();
  co_return true;
}

void ClientStream::watch(std::function<void()> gone) {
  gone_ = std::move(gone);
  await_input();
}

void ClientStream::unwatch() {
  gone_ = nullptr;
}

void ClientStream::await_input() {
  // One that is left over from the last watch will do: it wakes up at the next byte or at the end.
  if (awaiting_input_ || !gone_ || input_.size() >= kMaxPipelined || !socket_.is_open()) return;
  awaiting_input_ = true;
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const ErrorCode& ec) {
    self->awaiting_input_ = false;
    if (ec != net::error::operation_aborted) self->on_input();
  });
}

void ClientStream::on_input() {
  if (!gone_ || !socket_.is_open()) return;
  ErrorCode ec;
  const std::size_t room = std::min(scratch_.size(), kMaxPipelined - std::min(kMaxPipelined, input_.size()));
  const std::size_t got = socket_.read_some(net::buffer(scratch_.data(), room), ec);
  if (ec && !is_would_block(ec)) return std::exchange(gone_, nullptr)();
  if (!ec) input_.append(scratch_.data(), got);
  await_input();
}

Task<void> ClientStream::linger() {
  ErrorCode ec;
  socket_.shutdown(Socket::shutdown_send, ec);
  deadline_.set(Wait::kLinger, std::chrono::steady_clock::now() + std::chrono::seconds(2));
  for (std::size_t drained = 0; !ec && drained < kMaxDrained;) {
    input_.clear();
    if (!co_await read()) break;
    drained += input_.size();
  }
  deadline_.clear();
  close();
}

void ClientStream::cancel() {
  ErrorCode ignored;
  socket_.cancel(ignored);
}

void ClientStream::close() {
  ErrorCode ignored;
  socket_.close(ignored);
}

}  // namespace fareway
