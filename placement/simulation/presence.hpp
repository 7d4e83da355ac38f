#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/baselines/policy.hpp"
#include "placement/fleet.hpp"
#include "placement/scaling/scaler.hpp"
#include "placement/simulation/engine_model.hpp"

namespace fareway::simulation {

/// Which replicas of a simulated fleet are in, and what that costs. A replica that is let go takes no further
/// request, is paid until its last one ends, and can be called back meanwhile at no delay.
class Presence {
 public:
  Presence(const Fleet& fleet, double start_seconds);

  /// Replicas that take no requests now.
  const std::vector<ReplicaIndex>& excluded() const { return excluded_; }
  void placed(ReplicaIndex replica, SimTime now);
  void ended(ReplicaIndex replica, SimTime now);
  /// Pays the time since the last call and carries out what the scaler advises. About once a second.
  void review(Scaler* scaler, SimTime now);
  Usd paid() const { return paid_; }
  /// From here on `paid` counts anew.
  void forget_paid() { paid_ = {}; }

 private:
  enum class State : std::uint8_t { kStarting, kIn, kDraining, kOut };
  struct Entry {
    State state{State::kIn};
    SimTime since{0};
    SimTime busy_until{0};  // when it last had a request in flight
    std::uint32_t in_flight{0};
    ReplicaUse use;
  };

  void settle(Entry& entry, SimTime now) const;
  void change(const ScalingAdvice& advice, SimTime now);
  void list_excluded();

  double start_seconds_;
  std::vector<Entry> entries_;
  std::vector<ReplicaUse> uses_;
  std::vector<ReplicaIndex> excluded_;
  SimTime reviewed_{0};
  Usd paid_;
};

}  // namespace fareway::simulation
