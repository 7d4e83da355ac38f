#pragma once

#include <optional>

#include "placement/fleet.hpp"

namespace fareway {

/// The request that prices of pools are compared by: about the mean of the Azure LLM inference trace of 2023,
/// conversations (1,155 prompt and 211 output tokens).
inline constexpr Tokens kTypicalPrompt{1'000};
inline constexpr Tokens kTypicalOutput{200};

/// How much more the typical request costs in the dearest of a model's pools than in its cheapest, in
/// marginal GPU dollars.
struct PriceSpread {
  ModelIndex model;
  PoolIndex cheapest;
  PoolIndex dearest;
  Usd gap;
};

/// The widest over all models; nothing where no model is served by two pools.
std::optional<PriceSpread> widest_price_spread(const Fleet& fleet);

/// The least value of a miss that holds `attainment`: a pool in which ΔP more requests miss is preferred
/// wherever it is cheaper by more than V·ΔP, and at the target ΔP may be all that is left, 1 − attainment. So
///     V ≥ gap / (1 − attainment).
Usd least_miss_value(Usd gap, double attainment);

}  // namespace fareway
