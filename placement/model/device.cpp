#include "placement/model/device.hpp"

#include <algorithm>

namespace fareway {

FormatSupport format_support(const Device& device, NumberFormat format) {
  switch (format) {
    case NumberFormat::kBf16:
      return FormatSupport::kNative;
    case NumberFormat::kInt4:
      return FormatSupport::kConverted;  // weight-only: expanded inside the GEMM
    case NumberFormat::kFp8:
      if (device.fp8_dialect == Fp8Dialect::kNone) return FormatSupport::kEmulated;
      return device.fp8_dialect == Fp8Dialect::kOcp ? FormatSupport::kNative : FormatSupport::kConverted;
    case NumberFormat::kFp8Fnuz:
      return device.fp8_dialect == Fp8Dialect::kFnuz ? FormatSupport::kNative : FormatSupport::kWrong;
    case NumberFormat::kMxfp4:
      return device.native_mxfp4 ? FormatSupport::kNative : FormatSupport::kEmulated;
    case NumberFormat::kNvfp4:
      return device.native_nvfp4 ? FormatSupport::kNative : FormatSupport::kWrong;
  }
  return FormatSupport::kWrong;
}

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
