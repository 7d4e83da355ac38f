#pragma once

#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "adapters/emulator/emulator.hpp"
#include "tests/unit/adapters/emulator/client.hpp"

namespace fareway::emulator::testing {

inline constexpr const char* kChat = "/v1/chat/completions";
inline constexpr const char* kFault = "/emulator/fault";

inline Deployment deployment() {
  Deployment deployment;
  deployment.name = "tiny";
  deployment.capacity = {.kv_pool = Bytes{40'000}, .kv_per_token = Bytes{10}, .state_per_sequence = {}};
  deployment.context_limit = Tokens{2'000};
  deployment.seats = 4;
  deployment.chunk = Tokens{512};
  deployment.speed.step_floor = 0.010;
  deployment.speed.per_sequence = 0.001;
  deployment.speed.per_prompt_token = 0.0001;
  return deployment;
}

inline constexpr double kFast = 1000;  // a step takes some 11 us
inline constexpr double kSlow = 0.01;  // a step takes more than a second

/// An emulated engine on a loop of its own thread.
class RunningEngine {
 public:
  explicit RunningEngine(double time_scale)
      : engine_(std::make_unique<EmulatedEngine>(loop_, EmulatedReplica{.name = "r",
                                                                        .listen_host = "127.0.0.1",
                                                                        .listen_port = 0,
                                                                        .model = "tiny",
                                                                        .deployment = deployment(),
                                                                        .time_scale = time_scale})) {
    engine_->start();
    port_ = engine_->port();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~RunningEngine() {
    boost::asio::post(loop_, [this] { engine_.reset(); });
    work_.reset();
    thread_.join();
  }
  RunningEngine(const RunningEngine&) = delete;
  RunningEngine& operator=(const RunningEngine&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  boost::asio::io_context loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{loop_.get_executor()};
  std::unique_ptr<EmulatedEngine> engine_;
  std::uint16_t port_{};
  std::thread thread_;
};

inline std::string chat(int max_tokens, std::string_view extra = {}, std::string_view content = "hi") {
  return fmt::format(R"({{"model":"tiny","messages":[{{"role":"user","content":"{}"}}],"max_tokens":{}{}}})",
                     content, max_tokens, extra);
}
inline constexpr std::string_view kStream = R"(,"stream":true)";

/// The value of a series, named as it is written, labels included; NaN where it is absent.
inline double metric(const std::string& text, std::string_view series) {
  const std::size_t at = text.find("\n" + std::string(series) + " ");
  return at == std::string::npos ? std::nan("") : std::stod(text.substr(at + series.size() + 2));
}

inline std::string labelled(std::string_view name, std::string_view more = {}) {
  return fmt::format(R"({}{{engine="0",model_name="tiny"{}}})", name, more);
}

/// Asks until the gauge has that value; throws when it does not get there.
inline std::string wait_for(std::uint16_t port, std::string_view gauge, double value) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  Client client(port);
  while (std::chrono::steady_clock::now() < deadline) {
    std::string text = client.call("GET", "/metrics").body;
    if (metric(text, labelled(gauge)) == value) return text;
  }
  throw std::runtime_error(fmt::format("{} never became {}", gauge, value));
}

class Emulator : public ::testing::Test {
 protected:
  Reply post(std::string_view path, std::string_view body) {
    return call(engine_.port(), "POST", path, body);
  }
  Reply get(std::string_view path) { return call(engine_.port(), "GET", path); }
  std::uint16_t port() const { return engine_.port(); }

 private:
  RunningEngine engine_{kFast};
};

}  // namespace fareway::emulator::testing
