#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "router/config/config.hpp"
#include "router/gateway/deadline.hpp"
#include "router/gateway/net.hpp"

namespace fareway {

/// A client's connection: reads into one bounded buffer, writes at once where the socket takes it, and
/// notices a client that leaves while nobody reads. No buffer is held while it waits: bytes come through
/// `scratch`, which the loop's connections share. Owned by its session; its pending operations keep it alive.
class ClientStream : public std::enable_shared_from_this<ClientStream> {
 public:
  ClientStream(Socket socket, const Limits& limits, Deadline& deadline, std::span<char> scratch);

  /// Bytes received and not used yet. Whoever parses takes from the front.
  std::string& input() { return input_; }
  /// Waits for bytes and appends them to `input()`. False at the end, on an error or when the deadline
  /// passed.
  Task<bool> read();

  /// Sends all; false where the client is gone or took nothing for too long (the connection is then useless).
  Task<bool> write(std::string_view bytes);
  /// Sends several parts as one. What the socket does not take at once is copied: parts need to live only
  /// until the call first suspends.
  Task<bool> write_parts(std::span<const std::string_view> parts);

  /// Until `unwatch`, `gone` is called once when the client closes or resets. What it sends meanwhile goes to
  /// `input()`.
  void watch(std::function<void()> gone);
  void unwatch();

  /// Ends in a way that lets the client read the answer: sends FIN, then reads and drops a bounded amount.
  Task<void> linger();
  /// Ends pending operations; the connection is still open.
  void cancel();
  void close();
  bool open() const { return socket_.is_open(); }

 private:
  void await_input();
  void on_input();
  Task<bool> write_rest(std::string rest);

  Socket socket_;
  const Limits& limits_;
  Deadline& deadline_;
  std::span<char> scratch_;
  std::string input_;
  std::function<void()> gone_;
  bool awaiting_input_{false};
};

}  // namespace fareway
