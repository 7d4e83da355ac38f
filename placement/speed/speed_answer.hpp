#pragma once

#include <functional>

#include "placement/speed/closed_loop.hpp"
#include "placement/speed/deployment_text.hpp"
#include "placement/speed/speed_estimate.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// Answers of benchmarks are 1,024 tokens long; so are those that a closed loop is asked for here.
constexpr double kLoopOutputTokens = 1024;

/// TPOT under load, and what it rests on.
struct LoopReading {
  Seconds tpot{};
  bool measured{};      ///< read from measured points rather than from the profile
  bool extrapolated{};  ///< beyond the points behind either
};

/// How fast `batch` sequences of `context` tokens each decode on a deployment, and how long one waits for its
/// first token.
struct SpeedAnswer {
  SpeedEstimate estimate;  ///< its profile with speculative decoding, where the deployment has it
  StepParts parts;         ///< of one step; with speculation a step yields several tokens a sequence
  Seconds tpot{};          ///< without prefills in between
  LoopReading loop;        ///< in a closed loop of `batch` clients with prompts of `context` tokens
  Seconds prefill{};       ///< of `context` tokens, nothing cached
  Seconds cold_ttft{};
  Bytes kv_pool;            ///< after `reserve_per_device`; negative: the weights do not fit, by that much
  std::int64_t sessions{};  ///< of `context` tokens that the KV pool holds

  double stream() const { return 1 / tpot.count(); }  ///< tok/s of each sequence
};

SpeedAnswer answer_speed(const NamedDeployment& deployment, double context, double batch,
                         Bytes reserve_per_device);

/// Reads from the measured points of `estimate` where it has some and they are of the deployment as it runs,
/// without speculation; else from its profile. Keeps a copy of what it needs; building allocates.
std::function<LoopReading(const ClosedLoop&)> loop_reader(const SpeedEstimate& estimate, bool speculative);

/// The estimate of a deployment with everything its text asks for, speculation included.
SpeedEstimate estimate_named(const NamedDeployment& deployment);

}  // namespace fareway
