#include "placement/model/device.hpp"

#include <algorithm>

namespace fareway {

BytesPerSecond Device::group_bandwidth(std::uint32_t tp) const {
  if (tp > scale_up_world && scale_out_bandwidth) return std::min(link_bandwidth, *scale_out_bandwidth);
  if (link_pairwise.value <= 0 || tp <= 1) return link_bandwidth;
  return std::min(link_bandwidth, link_pairwise * static_cast<double>(tp - 1));
}

AllReduce Device::all_reduce(std::uint32_t devices) const {
  const auto fit =
      std::ranges::find_if(all_reduce_fits, [&](const AllReduce& each) { return each.devices >= devices; });
  if (fit != all_reduce_fits.end()) return *fit;
  return {.devices = devices, .latency = collective_latency, .bus_bandwidth = group_bandwidth(devices)};
}

}  // namespace fareway
