#include "pricing/list_prices.hpp"

#include <algorithm>

namespace fareway {

NanoUsd price_of(const ListPrice& list, const TokenUsage& usage) {
  __extension__ typedef __int128 Int128;  // NOLINT(modernize-use-using): the keyword needs this form
  constexpr Int128 kMillion = 1'000'000;

  const std::int64_t prompt = std::max<std::int64_t>(usage.prompt.value, 0);
  const std::int64_t cached = std::clamp<std::int64_t>(usage.cached.value, 0, prompt);
  const std::int64_t completion = std::max<std::int64_t>(usage.completion.value, 0);
  const Int128 millionths = Int128{list.input.value} * (prompt - cached) +
                            Int128{list.cached.value} * cached + Int128{list.output.value} * completion;
  return {static_cast<std::int64_t>((millionths + kMillion / 2) / kMillion)};
}

}  // namespace fareway
