#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace fareway::emulator::testing {

struct Reply {
  unsigned status{};
  std::string content_type;
  std::string body;  ///< de-chunked

  nlohmann::json json() const { return nlohmann::json::parse(body); }
};

/// One server-sent event.
struct Event {
  std::string name;  ///< empty where the stream names none
  std::string data;

  nlohmann::json json() const { return nlohmann::json::parse(data); }
};
std::vector<Event> events_of(std::string_view body);

/// A blocking HTTP client on one connection; every wait is bounded, and throws std::runtime_error past it.
class Client {
 public:
  explicit Client(std::uint16_t port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Reply call(std::string_view method, std::string_view path, std::string_view body = {});
  void send(std::string_view method, std::string_view path, std::string_view body = {});
  Reply receive();
  /// Raw bytes received so far, read on until they contain `text`.
  std::string read_until(std::string_view text);
  /// Sends FIN but keeps reading.
  void half_close();

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

/// One call on a connection of its own.
Reply call(std::uint16_t port, std::string_view method, std::string_view path, std::string_view body = {});

/// Whether anything listens there.
bool refuses(std::uint16_t port);

}  // namespace fareway::emulator::testing
