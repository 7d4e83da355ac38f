#include "placement/model/device.hpp"

#include <algorithm>
#include <array>

namespace fareway {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

struct FormatName {
  NumberFormat format;
  std::string_view name;
};
constexpr std::array kFormatNames{
    FormatName{NumberFormat::kBf16, "bf16"},        FormatName{NumberFormat::kFp8, "fp8"},
    FormatName{NumberFormat::kFp8Fnuz, "fp8_fnuz"}, FormatName{NumberFormat::kInt4, "int4"},
    FormatName{NumberFormat::kMxfp4, "mxfp4"},      FormatName{NumberFormat::kNvfp4, "nvfp4"}};

// HBM: what rocm-smi and nvidia-smi report. Bandwidth, dense peaks and links: vendors' data sheets (MI300X,
// MI355X, DGX B200, DGX B300). Efficiencies: BabelStream copy and hipBLASLt / cuBLASLt FP8 GEMM as published
// in Azure's AI benchmarking guide for MI300X and, for lack of Blackwell rows, H200; MI355X takes MI300X's.
// Collective latency: CUDA-graph all-reduce of vLLM 0.24 on B200 and B300; Infinity Fabric is unpublished and
// takes 10 us, what two all-reduces a layer cost in the published TP2 example of docs/placement.md. Layer
// overhead: fitted to DeepSeek-R1 FP8 decode runs of InferenceX, 2026.
const std::array kKnownDevices{Device{.name = "MI300X",
                                      .hbm = {206'141'652'992},
                                      .hbm_bandwidth = {5.3 * kTera},
                                      .bandwidth_efficiency = 0.775,
                                      .bf16_flops = {1307.4 * kTera},
                                      .fp8_flops = {2614.9 * kTera},
                                      .compute_efficiency = 0.443,
                                      .link_bandwidth = {448 * kGiga},
                                      .link_pairwise = {64 * kGiga},
                                      .collective_latency = Seconds{10e-6},
                                      .layer_overhead = Seconds{62.5e-6},
                                      .fp8_dialect = Fp8Dialect::kFnuz},
                               Device{.name = "MI355X",
                                      .hbm = {309'220'868'096},
                                      .hbm_bandwidth = {8.0 * kTera},
                                      .bandwidth_efficiency = 0.775,
                                      .bf16_flops = {2516.6 * kTera},
                                      .fp8_flops = {5033.2 * kTera},
                                      .compute_efficiency = 0.443,
                                      .link_bandwidth = {537.6 * kGiga},
                                      .link_pairwise = {76.8 * kGiga},
                                      .collective_latency = Seconds{10e-6},
                                      .layer_overhead = Seconds{89.6e-6},
                                      .fp8_dialect = Fp8Dialect::kOcp,
                                      .native_mxfp4 = true},
                               Device{.name = "B200",
                                      .hbm = {192'265'846'784},
                                      .hbm_bandwidth = {7.7 * kTera},
                                      .bandwidth_efficiency = 0.835,
                                      .bf16_flops = {2250 * kTera},
                                      .fp8_flops = {4500 * kTera},
                                      .compute_efficiency = 0.690,
                                      .link_bandwidth = {900 * kGiga},
                                      .link_pairwise = {},
                                      .collective_latency = Seconds{7.2e-6},
                                      .layer_overhead = Seconds{5.7e-6},
                                      .fp8_dialect = Fp8Dialect::kOcp,
                                      .native_mxfp4 = true,
                                      .native_nvfp4 = true},
                               Device{.name = "B300",
                                      .hbm = {288'400'343'040},
                                      .hbm_bandwidth = {7.75 * kTera},
                                      .bandwidth_efficiency = 0.835,
                                      .bf16_flops = {2250 * kTera},
                                      .fp8_flops = {4500 * kTera},
                                      .compute_efficiency = 0.690,
                                      .link_bandwidth = {900 * kGiga},
                                      .link_pairwise = {},
                                      .collective_latency = Seconds{7.2e-6},
                                      .layer_overhead = Seconds{12.3e-6},
                                      .fp8_dialect = Fp8Dialect::kOcp,
                                      .native_mxfp4 = true,
                                      .native_nvfp4 = true}};

}  // namespace

std::optional<NumberFormat> parse_number_format(std::string_view name) {
  const auto found = std::ranges::find(kFormatNames, name, &FormatName::name);
  if (found == kFormatNames.end()) return std::nullopt;
  return found->format;
}

std::string_view to_string(NumberFormat format) {
  return std::ranges::find(kFormatNames, format, &FormatName::format)->name;
}

std::string_view to_string(FormatSupport support) {
  switch (support) {
    case FormatSupport::kNative:
      return "native";
    case FormatSupport::kConverted:
      return "converted";
    case FormatSupport::kEmulated:
      return "emulated";
    case FormatSupport::kWrong:
      return "wrong";
  }
  return "unknown";
}

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
  if (link_pairwise.value <= 0 || tp <= 1) return link_bandwidth;
  return std::min(link_bandwidth, link_pairwise * static_cast<double>(tp - 1));
}

std::span<const Device> known_devices() {
  return kKnownDevices;
}

}  // namespace fareway
