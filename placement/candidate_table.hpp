#pragma once

#include <cstddef>
#include <vector>

#include "placement/fleet.hpp"
#include "placement/load.hpp"
#include "placement/score/candidate_tile.hpp"
#include "placement/score/stall_curve.hpp"

namespace fareway {

/// The replicas that run one model, in the fleet's order, as the dollar terms read them. The last tile is
/// filled up with candidates that are always excluded.
struct ModelCandidates {
  std::vector<ReplicaIndex> replicas;
  std::vector<CandidateTile> tiles;
  std::vector<StallCurve> curves;  ///< kLanes a tile
};

/// The fleet condensed for deciding: per model the candidates in tiles, per replica what its requests would
/// suffer.
///
/// Holds no truth of its own: every number follows from the fleet, and whoever changes a replica refreshes
/// its place here (`LiveFleet` does). Times are kept as single-precision seconds after `epoch`; renew the
/// table (by `refresh_all`) at least every ten minutes. Not thread-safe; reading is const.
class CandidateTable {
 public:
  /// O(replicas + requests in flight); allocates.
  CandidateTable(const Fleet& fleet, TimePoint now);

  const ModelCandidates& of(ModelIndex model) const { return models_[model.value]; }
  Seconds since_epoch(TimePoint now) const { return now - epoch_; }

  /// Takes over the replica's load, price, health and spreads. O(1), but for the load, which the caller has.
  void refresh(const Fleet& fleet, ReplicaIndex replica, const ReplicaLoad& load, TimePoint now);
  void set_curve(ReplicaIndex replica, const StallCurve& curve);
  /// Takes over every replica's load and starts a new epoch at `now`; curves stay. O(replicas + requests in
  /// flight).
  void refresh_all(const Fleet& fleet, TimePoint now);

  /// Tile and lane of a replica among the candidates of its model.
  struct Place {
    ModelIndex model;
    std::size_t tile{};
    std::size_t lane{};
  };
  const Place& place(ReplicaIndex replica) const { return places_[replica.value]; }

 private:
  TimePoint epoch_;
  std::vector<ModelCandidates> models_;
  std::vector<Place> places_;
};

/// The sum of `stall_curve` over the replica's requests.
StallCurve stall_curve_of(const Fleet& fleet, const Replica& replica, Seconds pace, TimePoint now);

}  // namespace fareway
