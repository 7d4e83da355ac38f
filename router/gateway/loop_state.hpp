#pragma once

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>

#include "router/gateway/answer_facts.hpp"
#include "router/gateway/auth.hpp"
#include "router/gateway/gateway.hpp"
#include "router/gateway/ledger_desk.hpp"
#include "router/gateway/loop_socket.hpp"
#include "router/gateway/scratch.hpp"
#include "router/gateway/shape.hpp"
#include "router/gateway/upstream.hpp"
#include "router/gateway/waiting_room.hpp"

namespace fareway {

/// Nothing where the settings hold no certificate. Throws as TlsAcceptor does.
std::shared_ptr<const TlsAcceptor> make_acceptor(const TlsListener& settings);

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
  std::shared_ptr<ReadySet> ready;
  Scratch scratch;
  UpstreamPool pool;
  LedgerDesk desk;
  WaitingRoom room;
  std::shared_ptr<const TlsAcceptor> tls;  ///< nothing where clients speak plain HTTP
  std::mt19937_64 random;
  bool draining{false};
};

}  // namespace fareway
