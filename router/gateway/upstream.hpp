#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.hpp"
#include "router/gateway/http_head.hpp"
#include "router/gateway/loop_socket.hpp"
#include "router/gateway/scratch.hpp"

namespace fareway {

/// One connection to an engine, good for one exchange at a time. Reading is split in two: wait until
/// `readable`, then `take` what is there without blocking, so that a waiting stream holds no buffer.
class UpstreamConnection {
 public:
  /// `ready` and `scratch` outlive the connection.
  UpstreamConnection(ReadySet& ready, Scratch& scratch) : socket_(ready), scratch_(scratch) {}

  enum class Taken {
    kBytes,  ///< something was read (perhaps not yet a whole head or any body)
    kDone,   ///< the answer is whole
    kCut,    ///< it broke off, or is not HTTP
  };

  /// Connects, or says why not; `close` ends it. `tls`: with a handshake, and a certificate that names
  /// `host`.
  Task<ErrorCode> connect(Executor executor, net::ip::tcp::endpoint endpoint, const TlsConnector* tls,
                          const std::string& host);
  /// Sends all; false where the connection failed or was closed before.
  Task<bool> write(std::span<std::string_view> parts);
  /// False where the wait ended because the connection was closed under it.
  Task<bool> readable();
  /// As `readable`, but `take_some` runs first each time, until it returns true. It may take, and must not
  /// close.
  Task<bool> readable_until(std::function<bool()> take_some);
  /// Waiting is of no use: something may be there to take.
  bool maybe_readable() const { return undecoded_ || answered() || socket_.maybe_readable(); }
  /// One non-blocking read, decoded. `body` is what it held of the body: one piece, valid until the next
  /// suspension. Stops behind the head once, so that the caller can look at it; what follows is taken by the
  /// next call.
  Taken take();
  std::string_view body() const { return body_; }
  const AnswerReader& answer() const { return *answer_; }

  void begin_answer() { answer_.emplace(); }
  /// Another exchange may follow on it.
  bool reusable() const;
  /// Nothing has arrived since its last answer: neither bytes nor the end.
  bool quiet();

  /// Ends whatever waits on it, a connect included.
  void close();
  bool closed() const { return closed_; }

 private:
  Taken decode(std::string_view bytes);
  /// The answer is whole, which it is with its head where it has no body.
  bool answered() const { return answer_ && answer_->done(); }

  std::optional<Socket> connecting_;
  LoopSocket socket_;
  Scratch& scratch_;
  std::optional<AnswerReader> answer_;
  std::string carry_;      // read and not used yet: an unfinished line, or what followed the head
  bool undecoded_{false};  // the latter
  std::string_view body_;
  bool ended_{false};   // the engine closed
  bool closed_{false};  // we closed
};

/// Idle connections by replica, newest first; and how to make new ones.
class UpstreamPool {
 public:
  /// Everything passed in outlives the pool. Throws as TlsConnector does.
  UpstreamPool(net::io_context& loop, ReadySet& ready, const std::vector<ReplicaAccess>& access,
               std::chrono::milliseconds idle_limit, Scratch& scratch);

  /// An idle connection that is still open and quiet, or nothing.
  std::unique_ptr<UpstreamConnection> take_idle(ReplicaIndex replica);
  /// A closed connection to open with `connect`, so that the caller can close it at any time.
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
  ReadySet& ready_;
  const std::vector<ReplicaAccess>& access_;
  std::vector<std::optional<net::ip::tcp::endpoint>> addresses_;  // of replicas given by address
  std::vector<std::shared_ptr<const TlsConnector>> connectors_;   // nothing for plain HTTP
  std::vector<std::vector<Idle>> idle_;
  std::chrono::milliseconds idle_limit_;
  Scratch& scratch_;
};

}  // namespace fareway
