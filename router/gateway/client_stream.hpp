#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "router/config/config.hpp"
#include "router/gateway/deadline.hpp"
#include "router/gateway/loop_socket.hpp"
#include "router/gateway/scratch.hpp"

namespace fareway {

/// A client's connection: reads into one bounded buffer, writes at once where the socket takes it, and
/// notices a client that leaves while nobody reads. No buffer is held while it waits: bytes come through
/// `scratch`, which the loop's connections share. Owned by its session.
class ClientStream {
 public:
  /// `ready`, `limits`, `deadline` and `scratch` outlive the stream.
  ClientStream(Socket socket, ReadySet& ready, const Limits& limits, Deadline& deadline, Scratch& scratch);

  /// The TLS handshake of a listener that has it, before anything else; false where it came to nothing in
  /// time.
  Task<bool> secure(const std::shared_ptr<const TlsAcceptor>& tls);

  /// Bytes received and not used yet. Whoever parses takes from the front.
  std::string& input() { return input_; }
  /// Waits for bytes and appends them to `input()`. False at the end, on an error or when the deadline
  /// passed.
  Task<bool> read();

  /// Sends all; false where the client is gone or took nothing for too long (the connection is then useless).
  Task<bool> write(std::string_view bytes);

  enum class Sent {
    kAll,
    kPart,  ///< the rest was copied and is kept for `flush`
    kNone,  ///< the client is gone
  };
  /// Sends several parts as one, as far as the socket takes them at once.
  Sent send(std::span<const std::string_view> parts);
  /// Sends what `send` kept; false as for `write`.
  Task<bool> flush();

  /// Until `unwatch`, `gone` is called once when the client closes or resets. What it sends meanwhile goes to
  /// `input()`.
  void watch(std::function<void()> gone);
  void unwatch();

  /// Ends in a way that lets the client read the answer: sends FIN, then reads and drops a bounded amount.
  Task<void> linger();
  /// Ends pending operations; the connection is still open.
  void cancel();
  void close();

 private:
  bool on_input();

  LoopSocket socket_;
  const Limits& limits_;
  Deadline& deadline_;
  Scratch& scratch_;
  std::string input_;
  std::string unsent_;
  std::function<void()> gone_;
};

}  // namespace fareway
