#include "bench/load_client.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fareway::bench {
namespace {

constexpr std::chrono::milliseconds kAfterFailure{20};
constexpr std::size_t kLongestError = 200;

std::string request_text(const LoadOptions& options) {
  const std::string body = request_body(options.ask, options.body_bytes);
  std::string text = "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(options.port) +
                     "\r\nuser-agent: bench_load\r\naccept: */*\r\ncontent-type: application/json\r\n";
  for (const std::string& header : options.headers) text += header + "\r\n";
  return text + "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

LoadClient::LoadClient(LoadOptions options) : options_(std::move(options)) {
  const Form request{request_text(options_)};
  const Instant start = now();
  const auto count = static_cast<std::int64_t>(options_.connections);
  for (std::int64_t i = 0; i < count; ++i) {
    connections_.push_back(std::make_unique<Connection>(options_.ask, request));
    starts_.push({start + options_.start_over * i / count, static_cast<std::size_t>(i)});
  }
}

void LoadClient::run_until(Instant end) {
  for (Instant time = now(); time < end; time = now()) {
    while (!finishing_ && !starts_.empty() && starts_.top().due <= time) {
      const std::size_t index = starts_.top().connection;
      starts_.pop();
      begin(index);
    }
    const bool start_comes_first = !finishing_ && !starts_.empty() && starts_.top().due < end;
    for (const epoll_event& event : poller_.wait(start_comes_first ? starts_.top().due : end)) handle(event);
  }
}

LoadCounts LoadClient::close_window() {
  LoadCounts counts = std::move(window_).value();
  window_.reset();
  return counts;
}

void LoadClient::finish_until(Instant end) {
  constexpr std::chrono::milliseconds kStep{2};
  finishing_ = true;
  while (open_ > 0 && now() < end) run_until(now() + kStep);
}

void LoadClient::begin(std::size_t index) {
  Connection& connection = *connections_[index];
  const std::uint64_t number = ++started_;
  connection.request.fill_number(number);
  connection.check.begin(number);
  connection.reply.reset();
  connection.sent = 0;
  connection.events_seen = 0;
  connection.began = now();
  connection.began_in_window = window_.has_value();
  ++open_;
  if (connection.socket.is_open()) {
    connection.state = State::kSending;
    send(index);
    return;
  }
  connection.socket = connect_to(options_.port);
  connection.state = State::kConnecting;
  poller_.watch(connection.socket, EPOLLIN | EPOLLOUT, index);
}

void LoadClient::handle(const epoll_event& event) {
  const std::size_t index = event.data.u64;
  Connection& connection = *connections_[index];
  if (!connection.socket.is_open()) return;
  if (connection.state == State::kConnecting) {
    if (const int error = connect_error(connection.socket); error != 0) {
      fail(index, std::string("connect: ") + std::strerror(error));
      return;
    }
    connection.state = State::kSending;
    poller_.change(connection.socket, EPOLLIN, index);
    send(index);
    return;
  }
  if ((event.events & EPOLLOUT) != 0 && connection.state == State::kSending) {
    poller_.change(connection.socket, EPOLLIN, index);
    send(index);
    if (!connection.socket.is_open()) return;
  }
  if ((event.events & ~std::uint32_t{EPOLLOUT}) != 0) receive_reply(index);
}

void LoadClient::send(std::size_t index) {
  Connection& connection = *connections_[index];
  const std::string_view rest = connection.request.text().substr(connection.sent);
  const IoResult sent = transmit(connection.socket, rest);
  if (sent.io == Io::kClosed) {
    fail(index, "the connection closed before the request was sent");
    return;
  }
  connection.sent += sent.bytes;
  if (sent.bytes < rest.size()) {
    poller_.change(connection.socket, EPOLLIN | EPOLLOUT, index);
  } else {
    connection.state = State::kReading;
  }
}

void LoadClient::receive_reply(std::size_t index) {
  Connection& connection = *connections_[index];
  const IoResult got = receive(connection.socket, scratch_);
  if (got.io == Io::kWouldBlock) return;
  if (connection.state == State::kIdle) {
    // Between two requests only the end of the connection may come.
    connection.socket.close();
    if (got.io != Io::kClosed) fail(index, "bytes came that nothing had asked for");
    return;
  }
  if (got.io == Io::kClosed) {
    fail(index, "the connection closed before the answer was complete");
    return;
  }
  const Instant time = now();
  if (window_) ++window_->reads;
  const std::string_view bytes{scratch_.data(), got.bytes};
  if (!take(connection, bytes, time)) {
    fail(index, "unexpected answer: " + std::string(bytes.substr(0, kLongestError)));
    return;
  }
  if (connection.reply.state() == ReplyReader::State::kDone) complete(index, time);
}

/// False where the reply is not what the engine sent, whole and once.
bool LoadClient::take(Connection& connection, std::string_view bytes, Instant time) {
  constexpr int kOk = 200;
  ReplyReader& reply = connection.reply;
  while (!bytes.empty() && reply.state() != ReplyReader::State::kDone) {
    const std::string_view body = reply.take(bytes);
    if (reply.state() == ReplyReader::State::kBroken) return false;
    if (reply.state() != ReplyReader::State::kHead && reply.status() != kOk) return false;
    times_.clear();
    if (!connection.check.take(body, times_)) return false;
    for (const Instant sent : times_) saw_event(connection, sent, time);
  }
  const bool done = reply.state() == ReplyReader::State::kDone;
  return bytes.empty() && (!done || connection.check.complete());
}

void LoadClient::saw_event(Connection& connection, Instant sent, Instant time) {
  const bool first = connection.events_seen++ == 0;
  if (first) ++answering_;
  if (!window_) return;
  ++window_->events;
  window_->event_delay.add(time - sent);
  if (first && connection.began_in_window) window_->first_event_time.add(time - connection.began);
}

void LoadClient::complete(std::size_t index, Instant time) {
  Connection& connection = *connections_[index];
  if (window_) {
    ++window_->requests;
    if (connection.began_in_window) window_->request_time.add(time - connection.began);
  }
  connection.state = State::kIdle;
  --open_;
  if (connection.events_seen > 0) --answering_;
  if (!connection.reply.keep_alive()) connection.socket.close();
  if (finishing_) return;
  const Instant next = connection.began + options_.pace;
  if (next <= time) {
    begin(index);
  } else {
    starts_.push({next, index});
  }
}

void LoadClient::fail(std::size_t index, const std::string& why) {
  Connection& connection = *connections_[index];
  if (connection.state != State::kIdle) {
    --open_;
    if (connection.events_seen > 0) --answering_;
    starts_.push({now() + kAfterFailure, index});
  }
  ++errors_;
  if (first_error_.empty()) first_error_ = why;
  connection.socket.close();
  connection.state = State::kIdle;
}

}  // namespace fareway::bench
