#include "tests/unit/adapters/emulator/client.hpp"

#include <stdexcept>
#include <sys/time.h>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace fareway::emulator::testing {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

tcp::endpoint loopback(std::uint16_t port) {
  return {net::ip::address_v4::loopback(), port};
}

}  // namespace

struct Client::Connection {
  net::io_context loop;
  tcp::socket socket{loop};
  boost::beast::flat_buffer buffer;
};

Client::Client(std::uint16_t port) : connection_(std::make_unique<Connection>()) {
  tcp::socket& socket = connection_->socket;
  socket.connect(loopback(port));
  if (::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience)) != 0)
    throw std::runtime_error("no receive timeout");
}

Client::~Client() = default;

Reply Client::call(std::string_view method, std::string_view path, std::string_view body) {
  send(method, path, body);
  return receive();
}

void Client::send(std::string_view method, std::string_view path, std::string_view body) {
  http::request<http::string_body> request;
  request.method_string({method.data(), method.size()});
  request.target({path.data(), path.size()});
  request.version(11);
  request.set(http::field::host, "emulator");
  request.set(http::field::content_type, "application/json");
  request.body() = body;
  request.prepare_payload();
  http::write(connection_->socket, request);
}

Reply Client::receive() {
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  http::read(connection_->socket, connection_->buffer, parser);
  auto response = parser.release();
  return {.status = response.result_int(),
          .content_type = std::string(response[http::field::content_type]),
          .body = std::move(response.body())};
}

std::string Client::read_until(std::string_view text) {
  boost::beast::flat_buffer& buffer = connection_->buffer;
  for (;;) {
    const std::string_view seen(static_cast<const char*>(buffer.data().data()), buffer.size());
    if (seen.find(text) != std::string_view::npos) return std::string(seen);
    buffer.commit(connection_->socket.read_some(buffer.prepare(4096)));
  }
}

void Client::half_close() {
  connection_->socket.shutdown(tcp::socket::shutdown_send);
}

Reply call(std::uint16_t port, std::string_view method, std::string_view path, std::string_view body) {
  return Client(port).call(method, path, body);
}

bool refuses(std::uint16_t port) {
  net::io_context loop;
  tcp::socket socket(loop);
  boost::system::error_code error;
  socket.connect(loopback(port), error);
  return error == net::error::connection_refused;
}

std::vector<Event> events_of(std::string_view body) {
  std::vector<Event> events;
  while (!body.empty()) {
    const std::size_t end = body.find("\n\n");
    if (end == std::string_view::npos) throw std::runtime_error("an event without its blank line");
    std::string_view block = body.substr(0, end);
    body.remove_prefix(end + 2);
    Event event;
    if (block.starts_with("event: ")) {
      const std::size_t line = block.find('\n');
      event.name = block.substr(7, line - 7);
      block.remove_prefix(line + 1);
    }
    if (!block.starts_with("data: ")) throw std::runtime_error("an event without data");
    event.data = block.substr(6);
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace fareway::emulator::testing
