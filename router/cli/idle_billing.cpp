#include "router/cli/idle_billing.hpp"

namespace fareway {

std::vector<IdleRow> IdleBilling::rows(const LiveFleet& live, WallTime now) {
  const Fleet& fleet = live.fleet();
  std::vector<IdleRow> rows;
  for (std::uint32_t i = 0; i < billed_.size(); ++i) {
    const NanoUsd idle = live.meter(ReplicaIndex{i}).idle() - billed_[i];
    if (idle == NanoUsd{}) continue;
    billed_[i] += idle;
    const Replica& replica = fleet.replicas[i];
    rows.push_back({replica.name, fleet[replica.pool].name, from_, now, idle});
  }
  from_ = now;
  return rows;
}

}  // namespace fareway
