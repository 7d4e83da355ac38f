#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fareway::testing {

/// A blocking TCP connection for tests: exact bytes out, exact bytes in. Every wait gives up after ten
/// seconds.
class RawConnection {
 public:
  explicit RawConnection(int socket) : socket_(socket) {}
  RawConnection(RawConnection&& other) noexcept : socket_(other.socket_), buffer_(std::move(other.buffer_)) {
    other.socket_ = -1;
  }
  RawConnection& operator=(RawConnection&&) = delete;
  ~RawConnection() { close(); }

  /// To a port of this machine.
  static RawConnection to(std::uint16_t port);

  /// False where the peer is gone.
  bool send(std::string_view bytes);
  bool send_one_by_one(std::string_view bytes);

  /// A head and the body its Content-Length announces; nothing at the end of the connection.
  std::optional<std::string> read_request();
  /// Everything up to and including `mark`; what came where the connection ended before it.
  std::string read_until(std::string_view mark);
  /// That many bytes, fewer where the connection ends before.
  std::string read_exactly(std::size_t bytes);
  /// Everything until the peer closes.
  std::string read_to_end();
  /// True where the peer closes or resets within the time; what it sends meanwhile is dropped.
  bool closes_within(std::chrono::milliseconds time);

  /// Waits until the peer's system has taken all that was sent (a reset would throw the rest away).
  void wait_until_read() const;
  void finish_sending();
  void close();
  /// Closes with a reset.
  void reset();
  int socket() const { return socket_; }

 private:
  bool fill();

  int socket_;
  std::string buffer_;
};

/// An answer as a client sees it. `whole` is false where its framing says that something is missing.
struct RawAnswer {
  std::string head;
  std::string body;  ///< without chunk framing
  bool whole{false};

  int status() const;
  std::string field(std::string_view lower_case_name) const;
};
/// Reads one answer off the connection, by Content-Length, chunks, or the end of the connection.
RawAnswer read_answer(RawConnection& connection);

/// An inference server made of raw bytes: each accepted connection is played by the script on a thread of its
/// own.
class ScriptedBackend {
 public:
  using Script = std::function<void(RawConnection&, ScriptedBackend&)>;
  explicit ScriptedBackend(Script script);
  ~ScriptedBackend();
  ScriptedBackend(const ScriptedBackend&) = delete;
  ScriptedBackend& operator=(const ScriptedBackend&) = delete;

  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }

  /// For scripts: reads a request and keeps it for `requests`.
  bool take_request(RawConnection& connection);
  std::vector<std::string> requests() const;
  /// Runs this for every request of every connection until the peer closes.
  static Script answering(std::string answer);

 private:
  void accept();

  Script script_;
  int listener_{-1};
  std::uint16_t port_{0};
  std::atomic<int> connections_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<int> open_;
  std::list<std::thread> players_;
  std::thread acceptor_;
};

/// A port of this machine where nobody listens.
std::uint16_t refused_port();

}  // namespace fareway::testing
