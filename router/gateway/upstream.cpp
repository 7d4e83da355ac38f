#include "router/gateway/upstream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <sys/socket.h>
#include <utility>

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

Task<ErrorCode> UpstreamConnection::connect(Executor executor, net::ip::tcp::endpoint endpoint,
                                            const TlsConnector* tls, const std::string& host) {
  connecting_.emplace(executor);
  ErrorCode ec;
  connecting_->open(endpoint.protocol(), ec);
  if (ec) co_return ec;
  const auto [failed] = co_await connecting_->async_connect(endpoint, kAwait);
  if (failed) co_return failed;
  if (closed_) co_return net::error::operation_aborted;
  connecting_->set_option(net::ip::tcp::no_delay(true), ec);
  if (!ec) ec = socket_.open(std::move(*connecting_));
  connecting_.reset();
  if (ec || tls == nullptr) co_return ec;
  socket_.secure(tls->connect(host, socket_.native_handle()));
  ec = co_await socket_.handshake();
  if (ec) socket_.close();
  co_return ec;
}

Task<bool> UpstreamConnection::write(std::span<std::string_view> parts) {
  for (;;) {
    ErrorCode ec;
    // The first attempt does not wait: most requests fit the socket's buffer.
    remove_front(parts, socket_.write_some(parts, ec));
    if (ec && !is_would_block(ec)) co_return false;
    if (std::all_of(parts.begin(), parts.end(), [](std::string_view part) { return part.empty(); })) break;
    const auto [waited] = co_await socket_.writable();
    if (waited) co_return false;
  }
  co_return true;
}

Task<bool> UpstreamConnection::readable() {
  const auto [ec] = co_await socket_.readable();
  co_return !ec && socket_.is_open();
}

Task<bool> UpstreamConnection::readable_until(std::function<bool()> take_some) {
  socket_.on_readable(std::move(take_some));
  const auto [ec] = co_await socket_.readable();
  socket_.no_hook();
  co_return !ec && socket_.is_open();
}

UpstreamConnection::Taken UpstreamConnection::take() {
  if (answered()) {
    body_ = {};
    return Taken::kDone;
  }
  const bool decode_only = std::exchange(undecoded_, false);
  const std::size_t kept = carry_.size();
  std::span<char> room(scratch_.input);
  if (!decode_only && kept >= room.size() / 2) return Taken::kCut;  // a line without end
  std::memcpy(room.data(), carry_.data(), kept);
  std::size_t got = 0;
  if (!decode_only) {
    ErrorCode ec;
    got = socket_.read_some(room.subspan(kept), ec);
    body_ = {};
    if (is_would_block(ec)) return Taken::kBytes;
    if (ec) {
      ended_ = true;
      return ec == net::error::eof && answer_->end_of_input() ? Taken::kDone : Taken::kCut;
    }
  }
  return decode({room.data(), kept + got});
}

UpstreamConnection::Taken UpstreamConnection::decode(std::string_view bytes) {
  auto& pieces = scratch_.pieces;
  pieces.clear();
  body_ = {};
  const bool had_head = answer_->head_done();
  std::size_t used = 0;
  for (;;) {
    const std::size_t taken = answer_->feed(bytes.substr(used), pieces);
    used += taken;
    if (taken == 0 || used == bytes.size() || answer_->done() || answer_->failed()) break;
    if (!had_head && answer_->head_done()) {
      undecoded_ = true;
      break;
    }
  }
  carry_.assign(bytes.substr(used));
  if (pieces.size() == 1) {
    body_ = pieces.front();
  } else if (!pieces.empty()) {
    scratch_.joined.clear();
    for (const std::string_view piece : pieces) scratch_.joined.append(piece);
    body_ = scratch_.joined;
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
  if (connecting_) connecting_->close(ignored);
  socket_.close();
}

UpstreamPool::UpstreamPool(net::io_context& loop, ReadySet& ready, const std::vector<ReplicaAccess>& access,
                           std::chrono::milliseconds idle_limit, Scratch& scratch)
    : loop_(loop),
      ready_(ready),
      access_(access),
      idle_(access.size()),
      idle_limit_(idle_limit),
      scratch_(scratch) {
  for (const ReplicaAccess& replica : access) {
    addresses_.push_back(literal_address(replica.endpoint));
    connectors_.push_back(replica.endpoint.tls ? TlsConnector::shared(*replica.endpoint.tls) : nullptr);
  }
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
  return std::make_unique<UpstreamConnection>(ready_, scratch_);
}

Task<ErrorCode> UpstreamPool::connect(ReplicaIndex replica, UpstreamConnection& connection) {
  const std::string& host = access_[replica.value].endpoint.host;
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
    last =
        co_await connection.connect(loop_.get_executor(), endpoint, connectors_[replica.value].get(), host);
    if (!last || connection.closed()) break;
  }
  co_return last;
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
