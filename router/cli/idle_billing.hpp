#pragma once

#include <vector>

#include "placement/live_fleet.hpp"
#include "pricing/ledger_row.hpp"

namespace fareway {

/// Turns the meters' idle cost into ledger rows, each amount once: what a replica's meter has counted as idle
/// since the last call. With the charges of the requests they add up to price × hours.
class IdleBilling {
 public:
  IdleBilling(std::size_t replicas, WallTime start) : billed_(replicas), from_(start) {}

  /// Rows for the interval since the last call; replicas that were never idle in it have none.
  std::vector<IdleRow> rows(const LiveFleet& fleet, WallTime now);

 private:
  std::vector<NanoUsd> billed_;
  WallTime from_;
};

}  // namespace fareway
