#pragma once

#include <optional>

#include "pricing/base/units.hpp"

namespace fareway {

/// What an answer consumed. `cached` is the part of `prompt` that came from a prefix cache.
struct TokenUsage {
  Tokens prompt;
  Tokens cached;
  Tokens completion;
  auto operator<=>(const TokenUsage&) const = default;
};

/// Where a token count comes from. Unknown is unknown, never zero.
enum class UsageSource {
  kEngine,   ///< the engine's own usage object
  kCounted,  ///< prompt estimated from its bytes, completion counted from the events relayed
  kUnknown,  ///< nothing was counted
};

/// What tenants pay for a model, in nanodollars for a million tokens.
struct ListPrice {
  NanoUsdPerMTok input;
  NanoUsdPerMTok cached;
  NanoUsdPerMTok output;
};

/// Price of one answer: uncached prompt, cached prompt and completion at their list prices, summed first and
/// rounded once, half away from zero. `usage.cached` above `usage.prompt` is taken as all of the prompt.
NanoUsd price_of(const ListPrice& list, const TokenUsage& usage);

}  // namespace fareway
