#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pricing/base/units.hpp"

namespace fareway {

/// Number format of a checkpoint's weights.
enum class NumberFormat { kBf16, kFp8, kFp8Fnuz, kInt4, kMxfp4, kNvfp4 };
std::optional<NumberFormat> parse_number_format(std::string_view name);
std::string_view to_string(NumberFormat format);

/// The bit layout a device computes FP8 e4m3 in. An OCP checkpoint on an FNUZ device is converted on load;
/// the other way round nothing converts and every value would be read a factor of two wrong.
enum class Fp8Dialect { kNone, kOcp, kFnuz };

/// How a device runs a checkpoint format.
enum class FormatSupport { kNative, kConverted, kEmulated, kWrong };
std::string_view to_string(FormatSupport support);

/// One accelerator. Efficiencies are the measured share of the peak that kernels reach.
struct Device {
  std::string name;
  Bytes hbm;  ///< as its runtime reports it, before any framework
  BytesPerSecond hbm_bandwidth;
  double bandwidth_efficiency{};
  FlopsPerSecond bf16_flops;  ///< dense peak
  FlopsPerSecond fp8_flops;   ///< dense peak; 0 where the device has no FP8 units
  double compute_efficiency{};
  BytesPerSecond link_bandwidth;  ///< scale-up, one direction, one device to all its peers
  BytesPerSecond link_pairwise;   ///< to one peer; 0 behind a switch, where one peer gets all of it
  Seconds collective_latency{};   ///< fixed part of one all-reduce in a TP group
  Seconds layer_overhead{};       ///< launch and glue time a layer and step
  Fp8Dialect fp8_dialect{Fp8Dialect::kNone};
  bool native_mxfp4{false};
  bool native_nvfp4{false};

  /// What one device can send at once inside a TP group of `tp`: a mesh gives a small group only some of its
  /// links.
  BytesPerSecond group_bandwidth(std::uint32_t tp) const;
};

FormatSupport format_support(const Device& device, NumberFormat format);

/// The devices known without any configuration (MI300X, MI355X, B200, B300), figures and their sources in
/// device.cpp.
std::span<const Device> known_devices();

}  // namespace fareway
