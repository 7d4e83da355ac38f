#include "tests/support/scripted_backend.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace fareway::testing {

namespace {

constexpr int kPatienceMs = 10'000;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int make_socket() {
  const int one = 1;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::runtime_error("no socket");
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return socket;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string field_of(std::string_view head, std::string_view name) {
  const std::string lines = lower(head);
  const std::size_t at = lines.find("\r\n" + std::string(name) + ":");
  if (at == std::string::npos) return {};
  const std::size_t from = head.find_first_not_of(' ', at + 2 + name.size() + 1);
  return std::string(head.substr(from, head.find("\r\n", from) - from));
}

/// Reads chunks to the last one; false where it does not come.
bool read_chunks(RawConnection& connection, std::string& body) {
  for (;;) {
    const std::string line = connection.read_until("\r\n");
    if (!line.ends_with("\r\n")) return false;
    const std::size_t size = std::stoul(line, nullptr, 16);
    if (size == 0) return connection.read_until("\r\n") == "\r\n";
    const std::string chunk = connection.read_exactly(size + 2);
    body.append(chunk, 0, size);
    if (!chunk.ends_with("\r\n") || chunk.size() != size + 2) return false;
  }
}

}  // namespace

RawConnection RawConnection::to(std::uint16_t port) {
  RawConnection connection(make_socket());
  const sockaddr_in address = loopback(port);
  if (::connect(connection.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect");
  }
  return connection;
}

bool RawConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawConnection::send_one_by_one(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return send({&byte, 1}); });
}

bool RawConnection::fill() {
  pollfd ready{socket_, POLLIN, 0};
  if (::poll(&ready, 1, kPatienceMs) <= 0) return false;
  std::array<char, 65536> bytes{};
  const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  buffer_.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

std::string RawConnection::read_until(std::string_view mark) {
  std::size_t at = buffer_.find(mark);
  while (at == std::string::npos) {
    const std::size_t from = buffer_.size() - std::min(buffer_.size(), mark.size());
    if (!fill()) return std::exchange(buffer_, {});
    at = buffer_.find(mark, from);
  }
  return read_exactly(at + mark.size());
}

std::string RawConnection::read_exactly(std::size_t bytes) {
  while (buffer_.size() < bytes && fill()) {
  }
  std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, taken.size());
  return taken;
}

std::string RawConnection::read_to_end() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

std::optional<std::string> RawConnection::read_request() {
  std::string request = read_until("\r\n\r\n");
  if (!request.ends_with("\r\n\r\n")) return std::nullopt;
  const std::string length = field_of(request, "content-length");
  const std::size_t size = length.empty() ? 0 : std::stoul(length);
  const std::string body = read_exactly(size);
  if (body.size() < size) return std::nullopt;
  return request + body;
}

bool RawConnection::closes_within(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 4096> dropped{};
    if (::recv(socket_, dropped.data(), dropped.size(), 0) <= 0) return true;
  }
}

void RawConnection::wait_until_read() const {
  // Acknowledged is not yet read by the process: a little more, or the reset overtakes the bytes.
  for (int unsent = 1; unsent > 0;) {
    if (::ioctl(socket_, SIOCOUTQ, &unsent) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void RawConnection::finish_sending() {
  ::shutdown(socket_, SHUT_WR);
}

void RawConnection::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void RawConnection::reset() {
  const linger at_once{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

int RawAnswer::status() const {
  return head.size() < 12 ? 0 : std::stoi(head.substr(9, 3));
}
std::string RawAnswer::field(std::string_view name) const {
  return field_of(head, name);
}

RawAnswer read_answer(RawConnection& connection) {
  RawAnswer answer;
  answer.head = connection.read_until("\r\n\r\n");
  if (!answer.head.ends_with("\r\n\r\n")) return answer;
  if (lower(answer.field("transfer-encoding")) == "chunked") {
    answer.whole = read_chunks(connection, answer.body);
  } else if (const std::string length = answer.field("content-length"); !length.empty()) {
    const std::size_t size = std::stoul(length);
    answer.body = connection.read_exactly(size);
    answer.whole = answer.body.size() == size;
  } else {
    answer.body = connection.read_to_end();
    answer.whole = true;
  }
  return answer;
}

ScriptedBackend::ScriptedBackend(Script script) : script_(std::move(script)), listener_(make_socket()) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 128) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("cannot listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept(); });
}

ScriptedBackend::~ScriptedBackend() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& player : players_) player.join();
}

void ScriptedBackend::accept() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int one = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ++connections_;
    // A copy of the descriptor, so that the destructor can end a script's wait whatever the script did to its
    // own.
    const int handle = ::dup(socket);
    {
      const std::lock_guard lock(mutex_);
      open_.push_back(handle);
    }
    players_.emplace_back([this, socket, handle] {
      {
        RawConnection connection(socket);
        script_(connection, *this);
      }
      const std::lock_guard lock(mutex_);
      std::erase(open_, handle);
      ::close(handle);
    });
  }
}

bool ScriptedBackend::take_request(RawConnection& connection) {
  auto request = connection.read_request();
  if (!request) return false;
  const std::lock_guard lock(mutex_);
  requests_.push_back(std::move(*request));
  return true;
}

std::vector<std::string> ScriptedBackend::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

ScriptedBackend::Script ScriptedBackend::answering(std::string answer) {
  return [answer = std::move(answer)](RawConnection& connection, ScriptedBackend& backend) {
    while (backend.take_request(connection) && connection.send(answer)) {
    }
  };
}

std::uint16_t refused_port() {
  const int socket = make_socket();
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

}  // namespace fareway::testing
