#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.hpp"
#include "router/gateway/http_head.hpp"
#include "router/gateway/net.hpp"

namespace fareway {

/// One connection to an engine, good for one exchange at a time. Reading is split in two: wait until
/// `readable`, then `take` what is there without blocking, so that a waiting stream holds no buffer.
class UpstreamConnection {
 public:
  UpstreamConnection(Socket socket, std::span<char> scratch)
      : socket_(std::move(socket)), scratch_(scratch) {}

  enum class Taken {
    kBytes,  ///< something was read (perhaps not yet a whole head or any body)
    kDone,   ///< the answer is whole
    kCut,    ///< it broke off, or is not HTTP
  };

  /// Sends all; the number of bytes that went out.
  Task<std::size_t> write(std::span<const std::string_view> parts);
  /// False where the wait ended because the connection was closed under it.
  Task<bool> readable();
  /// One non-blocking read, decoded. `body` is what it held of the body: one piece, valid until the next
  /// suspension. Stops behind the head once, so that the caller can look at it; what follows is taken by the
  /// next call.
  Taken take();
  /// `take` has something to decode without reading.
  bool has_buffered() const { return undecoded_; }
  std::string_view body() const { return body_; }
  const AnswerReader& answer() const { return *answer_; }

  void begin_answer() { answer_.emplace(); }
  /// Another exchange may follow on it.
  bool reusable() const;
  /// Nothing has arrived since its last answer: neither bytes nor the end.
  bool quiet();
  bool reused() const { return uses_ > 0; }
  void count_use() { ++uses_; }

  Socket& socket() { return socket_; }
  /// Ends whatever waits on it, a connect included.
  void close();
  bool closed() const { return closed_; }

 private:
  Taken decode(std::string_view bytes);

  Socket socket_;
  std::span<char> scratch_;
  std::optional<AnswerReader> answer_;
  std::string carry_;      // read and not used yet: an unfinished line, or what followed the head
  bool undecoded_{false};  // the latter
  std::string joined_;     // body bytes that did not lie together
  std::string_view body_;
  std::vector<std::string_view> pieces_;
  bool ended_{false};   // the engine closed
  bool closed_{false};  // we closed
  std::size_t uses_{0};
};

/// Idle connections by replica, newest first; and how to make new ones.
class UpstreamPool {
 public:
  /// `access` outlives the pool.
  UpstreamPool(net::io_context& loop, const std::vector<ReplicaAccess>& access,
               std::chrono::milliseconds idle_limit, std::span<char> scratch);

  /// An idle connection that is still open and quiet, or nothing.
  std::unique_ptr<UpstreamConnection> take_idle(ReplicaIndex replica);
  /// A closed socket to connect with `connect`, so that the caller can close it at any time.
  std::unique_ptr<UpstreamConnection> fresh();
  /// Connects to the replica's endpoint; names are looked up first. Closing the connection ends it.
  Task<ErrorCode> connect(ReplicaIndex replica, UpstreamConnection& connection);

  void give_back(ReplicaIndex replica, std::unique_ptr<UpstreamConnection> connection, TimePoint now);
  /// Closes what has been idle for too long.
  void expire(TimePoint now);
  void clear();

 private:
  struct Idle {
    std::unique_ptr<UpstreamConnection> connection;
    TimePoint since;
  };

  net::io_context& loop_;
  const std::vector<ReplicaAccess>& access_;
  std::vector<std::optional<net::ip::tcp::endpoint>> addresses_;  // of replicas given by address
  std::vector<std::vector<Idle>> idle_;
  std::chrono::milliseconds idle_limit_;
  std::span<char> scratch_;
};

}  // namespace fareway
