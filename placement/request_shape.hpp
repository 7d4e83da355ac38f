#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/estimates/prompt_content.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// Content of one block of prompt, chained with all blocks before it; equal keys mean an equal prefix.
using BlockKey = std::uint64_t;

/// Tokens one block key stands for: what vLLM-like engines share is a multiple of 16; coarser keys are
/// cheaper.
inline constexpr std::int64_t kBlockTokens = 256;

/// What the decision needs to know of a request; made in one pass over its body.
struct RequestShape {
  ModelIndex model;
  ClassIndex service_class;
  TenantIndex tenant;
  PromptContent content;               ///< what `prompt` was estimated from
  Tokens prompt;                       ///< estimated
  double prompt_error{0};              ///< relative: the prompt may be that much shorter than estimated
  Tokens expected_output;              ///< estimated from what this model and class usually produce
  std::optional<Tokens> output_limit;  ///< the client's own limit, where it set one
  std::uint64_t session{0};            ///< hash of tenant and session id; 0 where the client named none
  std::vector<BlockKey> prefix;        ///< chain over the prompt's content, one key a block, tenant included
  bool streamed{true};     ///< its tokens are seen as they come; otherwise progress is assumed as predicted
  std::uint64_t rules{0};  ///< the operator's rules that speak of it, as `RuleSet::matching` gives them
  std::uint64_t tie_break{0};  ///< random; spreads equal choices
  Seconds waited{};  ///< since it arrived: what is left of its TTFT target and deadline is less by that

  /// What an engine must have room for: the prompt and as much answer as the client allows, one token at
  /// least.
  Tokens context_needed() const { return prompt + output_limit.value_or(Tokens{1}); }
  Tokens shortest_prompt() const {
    return {static_cast<std::int64_t>(static_cast<double>(prompt.value) / (1 + prompt_error))};
  }
};

}  // namespace fareway
