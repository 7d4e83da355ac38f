#include "router/gateway/upstream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/write.hpp>

namespace fareway {

namespace {

using Resolver = net::ip::basic_resolver<net::ip::tcp, Executor>;

constexpr std::size_t kMaxIdlePerReplica = 512;

std::optional<net::ip::tcp::endpoint> literal_address(const Endpoint& endpoint) {
  ErrorCode ec;
  const auto address = net::ip::make_address(endpoint.host, ec);
  if (ec) return std::nullopt;
  return net::ip::tcp::endpoint(address, endpoint.port);
}

}  // namespace

Task<std::size_t> UpstreamConnection::write(std::span<const std::string_view> parts) {
  std::vector<net::const_buffer> buffers;
  buffers.reserve(parts.size());
  for (const std::string_view part : parts) buffers.emplace_back(part.data(), part.size());
  // The first attempt does not wait: most requests fit the socket's buffer.
  ErrorCode ec;
  std::size_t sent = socket_.write_some(buffers, ec);
  if (ec == net::error::would_block) sent = 0;
  if (ec && ec != net::error::would_block) co_return 0;
  std::size_t skip = sent;
  for (auto& buffer : buffers) {
    const std::size_t part = std::min(skip, buffer.size());
    buffer += part;
    skip -= part;
  }
  if (net::buffer_size(buffers) == 0) co_return sent;
  auto [failed, rest] = co_await net::async_write(socket_, buffers, kAwait);
  co_return sent + rest;
}

Task<bool> UpstreamConnection::readable() {
  auto [ec] = co_await socket_.async_wait(Socket::wait_read, kAwait);
  co_return !ec && socket_.is_open();
}

UpstreamConnection::Taken UpstreamConnection::take() {
  const bool decode_only = std::exchange(undecoded_, false);
  const std::size_t kept = carry_.size();
  if (!decode_only && kept >= scratch_.size() / 2) return Taken::kCut;  // a line without end
  std::memcpy(scratch_.data(), carry_.data(), kept);
  std::size_t got = 0;
  if (!decode_only) {
    ErrorCode ec;
    got = socket_.read_some(net::buffer(scratch_.data() + kept, scratch_.size() - kept), ec);
    body_ = {};
    if (ec == net::error::would_block) return Taken::kBytes;
    if (ec) {
      ended_ = true;
      return ec == net::error::eof && answer_->end_of_input() ? Taken::kDone : Taken::kCut;
    }
  }
  return decode({scratch_.data(), kept + got});
}

UpstreamConnection::Taken UpstreamConnection::decode(std::string_view bytes) {
  pieces_.clear();
  body_ = {};
  const bool had_head = answer_->head_done();
  std::size_t used = 0;
  for (;;) {
    const std::size_t taken = answer_->feed(bytes.substr(used), pieces_);
    used += taken;
    if (taken == 0 || used == bytes.size() || answer_->done() || answer_->failed()) break;
    if (!had_head && answer_->head_done()) {
      undecoded_ = true;
      break;
    }
  }
  carry_.assign(bytes.substr(used));
  if (pieces_.size() == 1) {
    body_ = pieces_.front();
  } else if (!pieces_.empty()) {
    joined_.clear();
    for (const std::string_view piece : pieces_) joined_.append(piece);
    body_ = joined_;
  }
  if (answer_->failed()) return Taken::kCut;
  return answer_->done() ? Taken::kDone : Taken::kBytes;
}

bool UpstreamConnection::reusable() const {
  return socket_.is_open() && !ended_ && carry_.empty() && answer_ && answer_->done() &&
         answer_->keep_alive();
}

bool UpstreamConnection::quiet() {
  if (!socket_.is_open()) return false;
  char byte = 0;
  const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void UpstreamConnection::close() {
  closed_ = true;
  ErrorCode ignored;
  socket_.close(ignored);
}

UpstreamPool::UpstreamPool(net::io_context& loop, const std::vector<ReplicaAccess>& access,
                           std::chrono::milliseconds idle_limit, std::span<char> scratch)
    : loop_(loop), access_(access), idle_(access.size()), idle_limit_(idle_limit), scratch_(scratch) {
  for (const ReplicaAccess& replica : access) addresses_.push_back(literal_address(replica.endpoint));
}

std::unique_ptr<UpstreamConnection> UpstreamPool::take_idle(ReplicaIndex replica) {
  auto& idle = idle_[replica.value];
  while (!idle.empty()) {
    auto connection = std::move(idle.back().connection);
    idle.pop_back();
    if (connection->quiet()) return connection;
  }
  return nullptr;
}

std::unique_ptr<UpstreamConnection> UpstreamPool::fresh() {
  return std::make_unique<UpstreamConnection>(Socket(loop_.get_executor()), scratch_);
}

Task<ErrorCode> UpstreamPool::connect(ReplicaIndex replica, UpstreamConnection& connection) {
  std::vector<net::ip::tcp::endpoint> endpoints;
  if (addresses_[replica.value]) {
    endpoints.push_back(*addresses_[replica.value]);
  } else {
    const Endpoint& endpoint = access_[replica.value].endpoint;
    Resolver resolver(loop_.get_executor());
    auto [ec, found] = co_await resolver.async_resolve(endpoint.host, std::to_string(endpoint.port), kAwait);
    if (ec) co_return ec;
    if (connection.closed()) co_return net::error::operation_aborted;
    for (const auto& entry : found) endpoints.push_back(entry.endpoint());
  }
  ErrorCode last = net::error::host_not_found;
  for (const auto& endpoint : endpoints) {
    ErrorCode ec;
    connection.socket().close(ec);
    connection.socket().open(endpoint.protocol(), ec);
    if (ec) co_return ec;
    auto [failed] = co_await connection.socket().async_connect(endpoint, kAwait);
    last = failed;
    if (!failed || connection.closed()) break;
  }
  if (last) co_return last;
  ErrorCode ec;
  connection.socket().set_option(net::ip::tcp::no_delay(true), ec);
  connection.socket().non_blocking(true, ec);
  co_return ec;
}

void UpstreamPool::give_back(ReplicaIndex replica, std::unique_ptr<UpstreamConnection> connection,
                             TimePoint now) {
  auto& idle = idle_[replica.value];
  if (idle.size() < kMaxIdlePerReplica) idle.push_back({std::move(connection), now});
}

void UpstreamPool::expire(TimePoint now) {
  for (auto& idle : idle_) {
    const auto fresh_from = std::find_if(idle.begin(), idle.end(),
                                         [&](const Idle& entry) { return now - entry.since < idle_limit_; });
    idle.erase(idle.begin(), fresh_from);  // oldest first, so the rest is young enough
  }
}

void UpstreamPool::clear() {
  for (auto& idle : idle_) idle.clear();
}

}  // namespace fareway
