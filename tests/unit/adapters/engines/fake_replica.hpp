#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace fareway::test {

/// What to send for a request, and what to do then. Nothing to send and `kKeepOpen`: the server hangs.
struct Script {
  enum class Then { kKeepOpen, kClose };
  std::string bytes;
  Then then{Then::kKeepOpen};
};

/// A whole HTTP/1.1 answer with its length.
std::string http_answer(int status, const std::string& body);

/// A server on an ephemeral loopback port that answers each path with the bytes of its script, well-formed or
/// not. Runs on the loop of the test, so nothing happens behind the test's back.
class FakeReplica {
 public:
  explicit FakeReplica(boost::asio::io_context& loop, std::uint16_t port = 0);

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  Script& on(const std::string& path) { return scripts_[path]; }
  const std::vector<std::string>& requests() const { return requests_; }  ///< heads, as received
  int connections() const { return connections_; }
  void close_connections();
  void stop();

 private:
  struct Connection;
  void accept();
  void read(const std::shared_ptr<Connection>& connection);
  void answer(const std::shared_ptr<Connection>& connection, const std::string& head);

  boost::asio::ip::tcp::acceptor acceptor_;
  std::map<std::string, Script> scripts_;
  std::vector<std::string> requests_;
  std::vector<std::weak_ptr<Connection>> open_;
  int connections_{0};
};

}  // namespace fareway::test
