#pragma once

#include <optional>
#include <string>

#include "placement/request_shape.hpp"
#include "router/config/config.hpp"
#include "router/gateway/api.hpp"
#include "router/gateway/shape.hpp"

namespace fareway {

/// One request that passed every check of its own: what is to be placed, forwarded, relayed and billed.
struct Job {
  std::string request_id;
  Api api{Api::kChat};
  const ApiKey* key{nullptr};
  TimePoint arrived;  ///< last byte of the request read
  WallTime wall_arrived;
  RequestShape shape;
  bool stream{false};
  std::string session;           ///< hash in hex; empty: none
  std::string body;              ///< as it came
  std::optional<Splice> splice;  ///< asks for usage; the usage chunk is then kept from the client
  std::string forwarded;         ///< the client's header lines that go on, by allow-list
  bool client_http11{true};
  bool keep_alive{true};  ///< the client's wish
};

}  // namespace fareway
