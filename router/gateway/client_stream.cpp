#include "router/gateway/client_stream.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fareway {

namespace {

constexpr std::size_t kMaxPipelined = 64u << 10;
constexpr std::size_t kMaxDrained = 1u << 20;

}  // namespace

ClientStream::ClientStream(Socket socket, ReadySet& ready, const Limits& limits, Deadline& deadline,
                           Scratch& scratch)
    : socket_(ready), limits_(limits), deadline_(deadline), scratch_(scratch) {
  ErrorCode ignored;  // a connection that is already gone shows at the first read
  socket.set_option(net::ip::tcp::no_delay(true), ignored);
  socket_.open(std::move(socket));
}

Task<bool> ClientStream::secure(const std::shared_ptr<const TlsAcceptor>& tls) {
  if (!socket_.is_open()) co_return false;
  socket_.secure(TlsAcceptor::accept(tls, socket_.native_handle()));
  deadline_.set(Wait::kHandshake, std::chrono::steady_clock::now() + limits_.header_timeout);
  const ErrorCode failed = co_await socket_.handshake();
  deadline_.clear();
  co_return !failed;
}

Task<bool> ClientStream::read() {
  while (socket_.is_open()) {
    if (!socket_.maybe_readable()) {
      const auto [waited] = co_await socket_.readable();
      if (waited) co_return false;
    }
    ErrorCode ec;
    const std::size_t got = socket_.read_some(scratch_.input, ec);
    if (is_would_block(ec)) continue;
    if (ec) co_return false;
    input_.append(scratch_.input.data(), got);
    co_return true;
  }
  co_return false;
}

Task<bool> ClientStream::write(std::string_view bytes) {
  const std::array parts{bytes};
  const Sent sent = send(parts);
  if (sent != Sent::kPart) co_return sent == Sent::kAll;
  co_return co_await flush();
}

ClientStream::Sent ClientStream::send(std::span<const std::string_view> parts) {
  ErrorCode ec;
  std::size_t sent = socket_.write_some(parts, ec);
  if (ec && !is_would_block(ec)) return Sent::kNone;
  for (const std::string_view part : parts) {
    const std::size_t skipped = std::min(sent, part.size());
    unsent_.append(part.substr(skipped));
    sent -= skipped;
  }
  return unsent_.empty() ? Sent::kAll : Sent::kPart;
}

Task<bool> ClientStream::flush() {
  const std::string unsent = std::exchange(unsent_, {});
  std::string_view left = unsent;
  while (!left.empty()) {
    deadline_.set(Wait::kClientWrite, std::chrono::steady_clock::now() + limits_.write_stall_timeout);
    const auto [waited] = co_await socket_.writable();
    if (waited) co_return false;
    ErrorCode ec;
    left.remove_prefix(socket_.write_some({&left, 1}, ec));
    if (ec && !is_would_block(ec)) co_return false;
  }
  deadline_.clear();
  co_return true;
}

void ClientStream::watch(std::function<void()> gone) {
  gone_ = std::move(gone);
  socket_.on_readable([this] { return on_input(); });
  if (socket_.maybe_readable()) on_input();
}

void ClientStream::unwatch() {
  gone_ = nullptr;
  socket_.no_hook();
}

/// Keeps what the client sends meanwhile; nobody waits for it.
bool ClientStream::on_input() {
  while (gone_ && socket_.maybe_readable() && input_.size() < kMaxPipelined) {
    ErrorCode ec;
    const std::size_t room = std::min(scratch_.input.size(), kMaxPipelined - input_.size());
    const std::size_t got = socket_.read_some(std::span(scratch_.input).first(room), ec);
    if (ec && !is_would_block(ec)) std::exchange(gone_, nullptr)();
    if (!ec) input_.append(scratch_.input.data(), got);
  }
  return false;
}

Task<void> ClientStream::linger() {
  ErrorCode ec;
  socket_.shutdown_send(ec);
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
  socket_.cancel();
}

void ClientStream::close() {
  socket_.close();
}

}  // namespace fareway
