#include "placement/fleet.hpp"

#include <algorithm>

namespace fareway {

std::string_view to_string(CapacityKind kind) {
  switch (kind) {
    case CapacityKind::kReserved:
      return "reserved";
    case CapacityKind::kOnDemand:
      return "on_demand";
    case CapacityKind::kSpot:
      return "spot";
  }
  return "unknown";
}

double InFlight::remaining() const {
  return std::max(1.0, expected_output - static_cast<double>(generated.value));
}

Spread PredictionErrors::widest() const {
  Spread widest = by_kind.front();
  for (const Spread& spread : by_kind) {
    widest.ttft = std::max(widest.ttft, spread.ttft);
    widest.tpot = std::max(widest.tpot, spread.tpot);
  }
  return widest;
}

NanoUsdPerHour Fleet::group_rate(const Replica& replica) const {
  const auto& fleet = *this;
  return fleet[replica.pool].per_device_hour * std::int64_t{fleet[replica.deployment].parallelism.devices()};
}

}  // namespace fareway
