#pragma once

#include <cstdint>
#include <vector>

#include "placement/live_fleet.hpp"
#include "placement/simulation/engine_model.hpp"

namespace fareway::simulation {

// The three classes of the reference scene, in the order of its fleet.
inline constexpr ClassIndex kInteractive{0};
inline constexpr ClassIndex kStandard{1};
inline constexpr ClassIndex kBatch{2};
inline constexpr std::size_t kClasses = 3;

/// How the router's picture of the fleet differs from the truth.
struct SceneFaults {
  double profile_error{0};        ///< relative: every coefficient is wrong by that much, up or down
  std::uint64_t profile_seed{1};  ///< which way each replica's is wrong
  int slow_replica{-1};           ///< index of a replica that is silently slower; −1: none
  double slowdown{3};             ///< by this factor
};

/// Eight replicas of DeepSeek-R1 in FP8 under TP8, two a pool; 64 devices, $236 an hour.
struct ReferenceScene {
  Fleet fleet;  ///< as the router sees it: profiles with the injected errors
  PriceBook prices;
  std::vector<EngineParameters> engines;  ///< the truth, one a replica
};
ReferenceScene reference_scene(CapacityKind capacity, const SceneFaults& faults = {});

}  // namespace fareway::simulation
