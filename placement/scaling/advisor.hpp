#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/decision.hpp"
#include "placement/fleet.hpp"
#include "placement/scaling/scaler.hpp"

namespace fareway {

/// A change of the fleet that would save dollars now.
struct FleetAdvice {
  ScalingAdvice::Kind kind{};
  ModelIndex model;
  PoolIndex pool;
  std::optional<ReplicaIndex> replica;  ///< to take in: nothing where it would be one more than there are
  Usd gain_per_second;                  ///< see ScalingAdvice; as it was when the advice was given
  Usd rate_per_second;                  ///< of the replica
  Usd misses_per_second;                ///< of the model, then
  TimePoint since;
};

/// "let r3 (pool mi300x) go: glm loses $0.36 an hour in misses, and the replica costs $44.00"
std::string advice_text(const FleetAdvice& advice, const Fleet& fleet);

/// Which replicas of a running fleet should exist, model by model, by the rule of in_and_out.cpp. It only
/// says so: who starts and stops machines decides, and the advice stands until it was followed or is no
/// longer right. A replica counts as in while it may take requests. One thread.
class ScalingAdvisor {
 public:
  explicit ScalingAdvisor(const Fleet& fleet);
  ~ScalingAdvisor();
  ScalingAdvisor(const ScalingAdvisor&) = delete;
  ScalingAdvisor& operator=(const ScalingAdvisor&) = delete;

  /// A request was placed, as expected to cost `score`.
  void placed(ModelIndex model, ClassIndex service_class, const Score& score);
  /// A request missed its objective, or was refused for want of a replica.
  void missed(ModelIndex model, Usd worth);
  /// About once a second.
  void review(const Fleet& fleet, TimePoint now);

  /// At most one a model.
  std::vector<FleetAdvice> standing() const;
  Usd misses_per_second(ModelIndex model) const;

 private:
  struct ModelAdvice;
  std::vector<Usd> worth_;  // of a miss, by class
  std::vector<ModelAdvice> models_;
  std::optional<TimePoint> began_;
};

}  // namespace fareway
