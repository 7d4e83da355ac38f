#include "tests/unit/adapters/engines/fake_replica.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

namespace fareway::test {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

struct FakeReplica::Connection {
  explicit Connection(tcp::socket accepted) : socket(std::move(accepted)) {}
  tcp::socket socket;
  std::string received;
};

std::string http_answer(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " Text\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

FakeReplica::FakeReplica(net::io_context& loop, std::uint16_t port)
    : acceptor_(loop, tcp::endpoint(net::ip::address_v4::loopback(), port)) {
  accept();
}

void FakeReplica::close_connections() {
  for (const auto& weak : open_) {
    if (const auto connection = weak.lock()) connection->socket.close();
  }
  open_.clear();
}

void FakeReplica::stop() {
  acceptor_.close();
  close_connections();
}

void FakeReplica::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error) return;
    ++connections_;
    const auto connection = std::make_shared<Connection>(std::move(socket));
    open_.push_back(connection);
    read(connection);
    accept();
  });
}

void FakeReplica::read(const std::shared_ptr<Connection>& connection) {
  net::async_read_until(connection->socket, net::dynamic_buffer(connection->received), "\r\n\r\n",
                        [this, connection](error_code error, std::size_t length) {
                          if (error) return;
                          const std::string head = connection->received.substr(0, length);
                          connection->received.erase(0, length);
                          answer(connection, head);
                        });
}

void FakeReplica::answer(const std::shared_ptr<Connection>& connection, const std::string& head) {
  requests_.push_back(head);
  const std::size_t begin = head.find(' ') + 1;
  const Script& script = scripts_[head.substr(begin, head.find(' ', begin) - begin)];
  const auto bytes = std::make_shared<std::string>(script.bytes);
  const auto then = script.then;
  net::async_write(connection->socket, net::buffer(*bytes),
                   [this, connection, bytes, then](error_code error, std::size_t) {
                     if (error || then == Script::Then::kClose) return connection->socket.close();
                     read(connection);
                   });
}

}  // namespace fareway::test
