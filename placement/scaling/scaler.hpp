#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What a scaler sees of one replica.
struct ReplicaUse {
  bool in{true};        ///< takes requests; false: draining or gone
  Usd per_second;       ///< its group rate
  double throughput{};  ///< tokens a second it generates under a typical load, see typical_throughput
  std::uint32_t in_flight{};
  std::optional<Seconds> idle;  ///< how long nothing has been in flight
};

struct ScalingAdvice {
  enum class Kind : std::uint8_t { kTakeIn, kLetGo };
  Kind kind{};
  ReplicaIndex replica;
  Usd gain_per_second;  ///< miss dollars beyond its rate for one to take in; the rate saved for one to let go
};

/// Which replicas should exist. A decision about seconds, not about requests: charging a replica's start to
/// the request that would need it is myopic. Pure: time comes in; reviewed about once a second; one thread.
class Scaler {
 public:
  virtual ~Scaler() = default;
  virtual std::string_view name() const = 0;
  /// A request was placed: what it is expected to cost in misses, its own and others', and what missing it
  /// would cost.
  virtual void placed(Usd expected_misses, Usd worth) = 0;
  /// A request ended and had missed its objective: what that was worth.
  virtual void missed(Usd) {}
  /// At most one change a review. Never advises to let the last replica go.
  virtual std::optional<ScalingAdvice> review(std::span<const ReplicaUse> fleet, Seconds now) = 0;
  /// Whether advice that nobody has followed yet is still right. `rate`: a second, of the replica it is
  /// about.
  virtual bool still_holds(ScalingAdvice::Kind, Usd rate) const {
    (void)rate;
    return true;
  }
  /// Miss dollars a second, as far as the rule knows them.
  virtual Usd misses_per_second() const { return {}; }
  /// Whether `placed` should be told dollars.
  virtual bool wants_dollars() const { return false; }
};

/// Miss dollars a second against the group rate, see in_and_out.cpp.
struct InAndOutOptions {
  double window_seconds{30};      ///< moving average of miss dollars
  double take_in_share{1};        ///< of the rate of the one to take in
  double let_go_share{0.3};       ///< of the rate of the one to let go
  double attainment{0.99};        ///< of requests' worth, held even where misses are cheaper than replicas
  double attainment_window{300};  ///< seconds over which that share is taken
  double learning_window{1800};   ///< seconds over which expected misses are compared with those seen
  double back_off_seconds{120};   ///< calm before one is let go
  double longest_back_off{600};
  double regret_seconds{600};  ///< one that is needed again within this doubles the back-off
};
std::unique_ptr<Scaler> in_and_out(const InAndOutOptions& options = {});

/// Lets go what was idle for ten minutes, takes one in when the others have more than `requests_each` in
/// flight.
std::unique_ptr<Scaler> idle_release(double requests_each = 64);

/// Holds in-flight requests a replica at a target, as Knative's and KEDA's concurrency scalers do: scales out
/// at once, in after five minutes below.
std::unique_ptr<Scaler> concurrency_autoscaler(double requests_each = 32);

/// The replica outside that generates most for its dollars; nothing where all are in.
std::optional<ReplicaIndex> best_outside(std::span<const ReplicaUse> fleet);
/// The replica inside that generates least for its dollars; nothing where only one is left.
std::optional<ReplicaIndex> worst_inside(std::span<const ReplicaUse> fleet);

}  // namespace fareway
