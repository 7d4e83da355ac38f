#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "placement/admission/admission_queue.hpp"
#include "placement/baselines/policy.hpp"
#include "placement/live_fleet.hpp"
#include "placement/scaling/scaler.hpp"
#include "placement/simulation/engine_model.hpp"
#include "placement/simulation/reference_fleet.hpp"
#include "placement/simulation/workload.hpp"

namespace fareway::simulation {

struct SimulationOptions {
  /// Takes replicas in and lets them go; null: all are in and paid all the time.
  Scaler* scaler{nullptr};
  /// From the advice to take a replica in until it takes requests; it is paid from the advice on.
  double start_seconds{0};
  /// Requests that nobody can serve in time wait, as they do in the router; nothing: each is placed at once.
  /// Only for a policy that says what refusing costs.
  std::optional<QueueLimits> queue{};
  /// Requests that arrive before this are served but not counted: caches fill, estimates are learned.
  double warm_up_seconds{60};
};

/// What became of the counted requests of one class.
struct ClassOutcome {
  std::int64_t requests{0};
  std::int64_t met{0};
  std::int64_t refused{0};
  std::int64_t tokens_met{0};  ///< generated for requests that met their objective

  double attainment() const {
    return requests == 0 ? 1 : static_cast<double>(met) / static_cast<double>(requests);
  }
};

/// Requests that were predicted to miss with about the same probability.
struct CalibrationBin {
  std::int64_t requests{0};
  std::int64_t missed{0};
  double predicted{0};  ///< sum of probabilities
};
inline constexpr std::size_t kCalibrationBins = 20;

struct Outcome {
  std::array<ClassOutcome, kClasses> classes{};
  std::array<CalibrationBin, kCalibrationBins> calibration{};  ///< in steps of 5 %; only predicted requests
  double seconds{0};                                           ///< of counted arrivals
  Usd gpu;     ///< of the replicas that were in, over `seconds`
  Usd missed;  ///< what the misses are worth
  std::int64_t prompt_tokens{0};
  std::int64_t cached_tokens{0};  ///< of them, found in the engine's prefix cache
  std::int64_t later_turns{0};    ///< requests whose session was seen before
  std::int64_t moves{0};          ///< of them, placed elsewhere than the last one
  std::int64_t preemptions{0};

  ClassOutcome all() const;
  double attainment() const { return all().attainment(); }
};

/// Serves every request of `workload` by `policy` on the scene's engines: LiveFleet keeps the router's
/// picture exactly as the gateway does, engines are the truth. Deterministic. Runs until the last request has
/// ended.
Outcome simulate(const Workload& workload, PlacementPolicy& policy, ReferenceScene scene,
                 const SimulationOptions& options = {});

}  // namespace fareway::simulation
