// A mock of vLLM for benchmarks: one thread, some engines, each with its own port on 127.0.0.1.
//
// Answers /health, /v1/models and /metrics as vLLM does, and POST /v1/chat/completions with a fixed text or a
// paced stream that carries the time of sending inside each event. What to answer stands in the request
// (payload.hpp). Prints one line a port, "listening on PORT", and runs until it is ended.

#include <cstdint>
#include <iostream>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/form.hpp"
#include "bench/payload.hpp"
#include "bench/reply_reader.hpp"
#include "bench/sockets.hpp"

namespace fareway::bench {
namespace {

constexpr std::uint64_t kListenerToken = std::uint64_t{1} << 32;
constexpr std::size_t kScratchBytes = 256 * 1024;
constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    "transfer-encoding: chunked\r\n\r\n";

struct Engine {
  Descriptor listener;
  std::int64_t running{0};
  std::uint64_t finished{0};
  std::uint64_t aborted{0};
  std::uint64_t generated{0};
};

struct Connection {
  Descriptor socket;
  Engine* engine{nullptr};
  std::uint64_t serial{0};  // descriptors are used again, serials are not
  std::string in;
  std::string out;  // what the socket has not taken yet
  Ask stream;
  std::uint32_t events_sent{0};
  bool streaming{false};
};

struct DueEvent {
  Instant due;
  int descriptor;
  std::uint64_t serial;
  bool operator>(const DueEvent& other) const { return due > other.due; }
};

struct Request {
  std::string_view line;  // "POST /v1/chat/completions"
  std::string_view body;
  std::size_t size{0};  // head and body
};

enum class Parse { kIncomplete, kComplete, kMalformed };

Parse parse_request(std::string_view in, Request& request) {
  const std::size_t head_end = in.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return Parse::kIncomplete;
  const std::size_t body_at = head_end + 4;
  const std::string_view head = in.substr(0, body_at);
  if (!header_value(head, "transfer-encoding").empty()) return Parse::kMalformed;
  std::size_t length = 0;
  for (const char digit : header_value(head, "content-length")) {
    if (digit < '0' || digit > '9') return Parse::kMalformed;
    length = length * 10 + static_cast<std::size_t>(digit - '0');
  }
  if (in.size() < body_at + length) return Parse::kIncomplete;
  request = {.line = head.substr(0, head.find(" HTTP/1.1\r\n")),
             .body = in.substr(body_at, length),
             .size = body_at + length};
  return Parse::kComplete;
}

std::string answer(std::string_view status, std::string_view type, std::string_view body) {
  std::string text = "HTTP/1.1 " + std::string(status) + "\r\nserver: uvicorn\r\ncontent-type: ";
  text += std::string(type) + "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n";
  return text += body;
}

std::string metrics_page(const Engine& engine) {
  const auto series = [](std::string_view name, std::string_view labels, auto value) {
    return "vllm:" + std::string(name) + R"({engine="0",model_name="bench")" + std::string(labels) + "} " +
           std::to_string(value) + "\n";
  };
  return "# TYPE vllm:num_requests_running gauge\n" + series("num_requests_running", "", engine.running) +
         "# TYPE vllm:num_requests_waiting gauge\n" + series("num_requests_waiting", "", 0) +
         "# TYPE vllm:kv_cache_usage_perc gauge\n" + series("kv_cache_usage_perc", "", 0.01) +
         "# TYPE vllm:cache_config_info gauge\n" +
         series("cache_config_info", R"(,block_size="16",num_gpu_blocks="1000000")", 1) +
         "# TYPE vllm:generation_tokens counter\n" + series("generation_tokens_total", "", engine.generated) +
         "# TYPE vllm:request_success counter\n" +
         series("request_success_total", R"(,finished_reason="stop")", engine.finished) +
         series("request_success_total", R"(,finished_reason="abort")", engine.aborted);
}

class Backend {
 public:
  explicit Backend(const std::vector<std::uint16_t>& ports) {
    for (const std::uint16_t port : ports) engines_.push_back({.listener = listen_on(port)});
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      poller_.watch(engines_[i].listener, EPOLLIN, kListenerToken + i);
      std::cout << "listening on " << port_of(engines_[i].listener) << std::endl;
    }
  }

  void run() {
    constexpr std::chrono::seconds kIdle{1};
    for (;;) {
      const Instant until = due_.empty() ? now() + kIdle : due_.top().due;
      for (const epoll_event& event : poller_.wait(until)) handle(event);
      send_due_events();
    }
  }

 private:
  void handle(const epoll_event& event) {
    if (event.data.u64 >= kListenerToken) {
      accept_all(engines_[event.data.u64 - kListenerToken]);
      return;
    }
    const auto found = connections_.find(static_cast<int>(event.data.u64));
    if (found == connections_.end()) return;
    Connection& connection = *found->second;
    const bool alive = (event.events & ~std::uint32_t{EPOLLOUT}) == 0 || read(connection);
    if (alive && (event.events & EPOLLOUT) != 0) flush(connection);
  }

  void accept_all(Engine& engine) {
    for (;;) {
      Descriptor socket = accept_from(engine.listener);
      if (!socket.is_open()) return;
      const int descriptor = socket.get();
      poller_.watch(socket, EPOLLIN, static_cast<std::uint64_t>(descriptor));
      auto connection = std::make_unique<Connection>();
      connection->socket = std::move(socket);
      connection->engine = &engine;
      connection->serial = ++serials_;
      connections_[descriptor] = std::move(connection);
    }
  }

  // The functions below that return bool say whether the connection still stands.

  bool read(Connection& connection) {
    const IoResult got = receive(connection.socket, scratch_);
    if (got.io == Io::kClosed) return drop(connection);
    connection.in.append(scratch_.data(), got.bytes);
    while (!connection.streaming) {
      Request request;
      const Parse parse = parse_request(connection.in, request);
      if (parse == Parse::kMalformed) return drop(connection);
      if (parse == Parse::kIncomplete) return true;
      if (!serve(connection, request)) return false;
      connection.in.erase(0, request.size);
    }
    return true;
  }

  bool serve(Connection& connection, const Request& request) {
    if (request.line == "POST /v1/chat/completions") return chat(connection, request.body);
    if (request.line == "GET /health") return send(connection, answer("200 OK", "text/plain", ""));
    if (request.line == "GET /metrics") {
      return send(connection,
                  answer("200 OK", "text/plain; version=0.0.4", metrics_page(*connection.engine)));
    }
    if (request.line == "GET /v1/models") {
      return send(connection, answer("200 OK", "application/json",
                                     R"({"object":"list","data":[{"id":"bench","object":"model"}]})"));
    }
    return send(connection, answer("404 Not Found", "application/json", R"({"detail":"Not Found"})"));
  }

  bool chat(Connection& connection, std::string_view body) {
    const std::optional<Ask> ask = read_ask(body);
    if (!ask) {
      constexpr std::string_view kRefusal = R"({"error":{"message":"not a request of the benchmark"}})";
      return send(connection, answer("400 Bad Request", "application/json", kRefusal));
    }
    if (ask->stream) return begin_stream(connection, *ask);
    ++connection.engine->finished;
    connection.engine->generated += ask->events;
    plain_.fill_number(ask->number);
    return send(connection, plain_.text());
  }

  bool begin_stream(Connection& connection, const Ask& ask) {
    connection.streaming = true;
    connection.stream = ask;
    connection.events_sent = 0;
    ++connection.engine->running;
    return send(connection, kStreamHead) && send_event(connection, now());
  }

  /// The next event of a stream; after the last one also its end.
  bool send_event(Connection& connection, Instant due) {
    event_.fill_number(connection.stream.number);
    event_.fill_stamp(now());
    ++connection.engine->generated;
    if (!send(connection, event_.text())) return false;
    if (++connection.events_sent < connection.stream.events) {
      due_.push({due + connection.stream.interval, connection.socket.get(), connection.serial});
      return true;
    }
    connection.streaming = false;
    --connection.engine->running;
    ++connection.engine->finished;
    Form& end = connection.stream.usage ? end_with_usage_ : end_;
    end.fill_number(connection.stream.number);
    return send(connection, end.text());
  }

  void send_due_events() {
    const Instant time = now();
    while (!due_.empty() && due_.top().due <= time) {
      const DueEvent next = due_.top();
      due_.pop();
      const auto found = connections_.find(next.descriptor);
      if (found == connections_.end() || found->second->serial != next.serial) continue;
      send_event(*found->second, next.due);
    }
  }

  bool send(Connection& connection, std::string_view bytes) {
    if (connection.out.empty()) {
      const IoResult sent = transmit(connection.socket, bytes);
      if (sent.io == Io::kClosed) return drop(connection);
      bytes.remove_prefix(sent.bytes);
      if (bytes.empty()) return true;
      poll(connection, EPOLLIN | EPOLLOUT);
    }
    connection.out += bytes;
    return true;
  }

  bool flush(Connection& connection) {
    const IoResult sent = transmit(connection.socket, connection.out);
    if (sent.io == Io::kClosed) return drop(connection);
    connection.out.erase(0, sent.bytes);
    if (connection.out.empty()) poll(connection, EPOLLIN);
    return true;
  }

  void poll(const Connection& connection, std::uint32_t events) {
    poller_.change(connection.socket, events, static_cast<std::uint64_t>(connection.socket.get()));
  }

  bool drop(Connection& connection) {
    if (connection.streaming) {
      --connection.engine->running;
      ++connection.engine->aborted;
    }
    connections_.erase(connection.socket.get());
    return false;
  }

  Poller poller_;
  std::vector<Engine> engines_;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
  std::priority_queue<DueEvent, std::vector<DueEvent>, std::greater<>> due_;
  std::uint64_t serials_{0};
  std::vector<char> scratch_ = std::vector<char>(kScratchBytes);
  Form plain_{answer("200 OK", "application/json", plain_answer())};
  Form event_{as_chunk(stream_event())};
  Form end_{as_chunk(stream_end(false)) + std::string(kLastChunk)};
  Form end_with_usage_{as_chunk(stream_end(true)) + std::string(kLastChunk)};
};

}  // namespace
}  // namespace fareway::bench

int main(int argc, char** argv) {
  CLI::App app{"Mock inference engines for benchmarks, on 127.0.0.1"};
  std::vector<std::uint16_t> ports{0, 0};
  app.add_option("--ports", ports, "one engine a port; 0 takes any free one")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  try {
    fareway::bench::prepare_process();
    fareway::bench::Backend{ports}.run();
  } catch (const std::exception& error) {
    std::cerr << "bench_backend: " << error.what() << '\n';
    return 1;
  }
}
