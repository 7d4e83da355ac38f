#pragma once

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>

#include "router/gateway/answer_facts.hpp"
#include "router/gateway/auth.hpp"
#include "router/gateway/gateway.hpp"
#include "router/gateway/net.hpp"
#include "router/gateway/shape.hpp"
#include "router/gateway/upstream.hpp"

namespace fareway {

/// What all connections of one loop share. Used by that loop's thread only, so nothing here locks.
struct LoopState {
  LoopState(net::io_context& io_loop, GatewayParts gateway_parts);

  net::io_context& loop;
  GatewayParts parts;
  KeyRing keys;
  std::unordered_map<std::string_view, ModelIndex> models;
  std::unordered_map<std::string_view, ClassIndex> classes;
  ShapeReader shapes;
  AnswerReading reading;
  /// Where every read lands first; valid until the reader's next suspension.
  std::array<char, 64u << 10> scratch;
  UpstreamPool pool;
  std::mt19937_64 random;
  bool draining{false};
};

/// Appends the row and waits until it is durable, or kept for later because the store is in trouble. The row
/// is handed over before this first suspends; it is written even if the waiting coroutine is destroyed.
Task<void> append_and_wait(LoopState& state, LedgerRow row);

}  // namespace fareway
