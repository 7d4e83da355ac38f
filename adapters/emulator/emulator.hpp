#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "placement/model/deployment.hpp"

namespace fareway {

/// One emulated inference server: what it serves, how fast, and where it listens.
struct EmulatedReplica {
  std::string name;
  std::string listen_host;
  std::uint16_t listen_port{};  ///< 0: any free port, see `port()`
  std::string model;
  Deployment deployment;
  double time_scale{1.0};  ///< emulated seconds that pass in one real second
};

/// An inference server for people without these GPUs: the OpenAI API with streaming and usage, vLLM's
/// /metrics and /health, continuous batching with chunked prefill, a KV pool and a prefix cache, all timed by
/// the deployment's own profile. Answers are made-up words; lengths follow `max_tokens`. Runs on one loop;
/// construct, `start`, run the loop.
class EmulatedEngine {
 public:
  EmulatedEngine(boost::asio::io_context& loop, EmulatedReplica replica);
  ~EmulatedEngine();
  EmulatedEngine(const EmulatedEngine&) = delete;
  EmulatedEngine& operator=(const EmulatedEngine&) = delete;

  /// Throws std::runtime_error ("cannot listen on 127.0.0.1:9001: address in use").
  void start();
  void stop();
  std::uint16_t port() const;

 private:
  class Server;
  std::shared_ptr<Server> server_;
};

}  // namespace fareway
