#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pricing/base/units.hpp"
#include "pricing/list_prices.hpp"

namespace fareway {

/// How a request ended.
enum class Outcome {
  kComplete,      ///< the whole answer was relayed and every choice finished
  kIncomplete,    ///< the answer broke off, or the engine reported an error inside it
  kClientClosed,  ///< the client left first
  kEngineError,   ///< the engine's answer was an error status, relayed to the client
  kFailed,        ///< no engine answered: the client got our own error
};
std::string_view to_string(Outcome outcome);

/// One attempt on one replica and what the meter charged for it. Attempts that never reached an engine cost
/// 0.
struct Charge {
  std::string replica;
  std::string pool;
  NanoUsd cost;
};

/// One admitted request, as the ledger keeps it. No prompt, no answer, no key: ids and amounts only.
struct LedgerRow {
  std::string request_id;
  WallTime admitted_at;
  std::string tenant;
  std::string key_id;
  std::string model;
  std::string service_class;
  std::string endpoint;  ///< the API path, such as "/v1/chat/completions"
  std::string session;   ///< hash of the session id, hex; empty where the client named none
  Outcome outcome{Outcome::kFailed};
  int status{0};  ///< HTTP status the client got; 0 where it left before one
  UsageSource usage_source{UsageSource::kUnknown};
  std::optional<TokenUsage> usage;
  std::optional<NanoUsd> price;  ///< what the tenant pays; nothing where the model has no list price
  std::optional<Seconds> ttft;
  Seconds duration{};
  std::vector<Charge> charges;  ///< in order of the attempts; the last one answered. Cost is their sum.
};

/// What a replica cost while nothing was active on it, over one interval.
struct IdleRow {
  std::string replica;
  std::string pool;
  WallTime from;
  WallTime to;
  NanoUsd idle;
};

}  // namespace fareway
