#include <array>

#include "placement/catalogue/catalogue.hpp"

namespace fareway {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr std::int64_t kGigabyte = 1'000'000'000;

constexpr Seconds microseconds(double count) {
  return Seconds{count * 1e-6};
}
constexpr BytesPerSecond gigabits(double per_second) {
  return {per_second * kGiga / 8};
}
constexpr AllReduce fit(std::uint32_t devices, double latency_us, double bus_gigabytes) {
  return {.devices = devices, .latency = microseconds(latency_us), .bus_bandwidth = {bus_gigabytes * kGiga}};
}

// Where the figures come from:
// - Memory, bandwidth, dense peaks, links: the source named at each device.
// - Efficiencies: BabelStream copy, FP8 GEMM by cuBLASLt or hipBLASLt and FlashAttention-2, as published in
// Azure's AI
//   benchmarking guide for H100, H200 and MI300X. Other devices take those of their kin and say so: CDNA
//   MI300X's, Hopper and Blackwell H200's, older ones H100's.
// - All-reduce: latency + 2(n - 1)/n x bytes / bus bandwidth, least squares on aiconfigurator's measurements
// (vLLM 0.24
//   custom all-reduce in CUDA graphs; NCCL 2.27 for A100, SGLang 0.5.14 in graphs for L40S). MI300X: the 310
//   GB/s that an OCI node must pass. Fixed latency where nothing is measured: 10 us, what two all-reduces a
//   layer cost in the published TP2 example of docs/placement.md; elsewhere that of four devices.
// - Layer overhead: fitted to DeepSeek-R1 FP8 decode runs of InferenceX, 2026, for MI300X, MI355X, H200, B200
// and B300;
//   others take that of their kin as above.
std::vector<Device> device_table() {
  return {
      // InferenceX hardware tables; rocm-smi total VRAM. MX formats only by up-conversion.
      {.name = "MI300X",
       .vendor = Vendor::kAmd,
       .arch = "gfx942",
       .hbm_nominal = Bytes{192 * kGigabyte},
       .hbm = {206'141'652'992},
       .hbm_bandwidth = {5.3 * kTera},
       .bandwidth_efficiency = 0.775,
       .bf16_flops = {1307.4 * kTera},
       .fp8_flops = {2614.9 * kTera},
       .compute_efficiency = 0.443,
       .attention_efficiency = 0.251,
       .efficiencies_measured = true,
       .link_bandwidth = {448 * kGiga},
       .link_pairwise = {64 * kGiga},
       .link_topology = LinkTopology::kMesh,
       .scale_out_bandwidth = gigabits(400),
       .collective_latency = microseconds(10),
       .all_reduce_fits = {fit(8, 10, 310)},
       .layer_overhead = microseconds(62.5),
       .fp8_dialect = Fp8Dialect::kFnuz},
      // InferenceX hardware tables. Announced with 288 GB, shipped with 256.
      {.name = "MI325X",
       .vendor = Vendor::kAmd,
       .arch = "gfx942",
       .hbm_nominal = Bytes{256 * kGigabyte},
       .hbm = {274'861'129'728},
       .hbm_bandwidth = {6 * kTera},
       .bandwidth_efficiency = 0.775,
       .bf16_flops = {1307.4 * kTera},
       .fp8_flops = {2614.9 * kTera},
       .compute_efficiency = 0.443,
       .link_bandwidth = {448 * kGiga},
       .link_pairwise = {64 * kGiga},
       .link_topology = LinkTopology::kMesh,
       .scale_out_bandwidth = gigabits(400),
       .collective_latency = microseconds(10),
       .layer_overhead = microseconds(62.5),
       .fp8_dialect = Fp8Dialect::kFnuz},
      // AMD's data sheet, from memory: check before relying on it. Air-cooled sibling of MI355X.
      {.name = "MI350X",
       .vendor = Vendor::kAmd,
       .arch = "gfx950",
       .hbm_nominal = Bytes{288 * kGigabyte},
       .hbm = {309'220'868'096},
       .hbm_bandwidth = {8 * kTera},
       .bandwidth_efficiency = 0.775,
       .bf16_flops = {2310 * kTera},
       .fp8_flops = {4610 * kTera},
       .fp4_flops = {9200 * kTera},
       .compute_efficiency = 0.443,
       .link_bandwidth = {537.6 * kGiga},
       .link_pairwise = {76.8 * kGiga},
       .link_topology = LinkTopology::kMesh,
       .scale_out_bandwidth = gigabits(400),
       .collective_latency = microseconds(10),
       .layer_overhead = microseconds(89.6),
       .fp8_dialect = Fp8Dialect::kOcp,
       .native_mxfp4 = true},
      // InferenceX hardware tables: seven links of 76.8 GB/s.
      {.name = "MI355X",
       .vendor = Vendor::kAmd,
       .arch = "gfx950",
       .hbm_nominal = Bytes{288 * kGigabyte},
       .hbm = {309'220'868'096},
       .hbm_bandwidth = {8 * kTera},
       .bandwidth_efficiency = 0.775,
       .bf16_flops = {2516.6 * kTera},
       .fp8_flops = {5033.2 * kTera},
       .fp4_flops = {10066.3 * kTera},
       .compute_efficiency = 0.443,
       .link_bandwidth = {537.6 * kGiga},
       .link_pairwise = {76.8 * kGiga},
       .link_topology = LinkTopology::kMesh,
       .scale_out_bandwidth = gigabits(400),
       .collective_latency = microseconds(10),
       .layer_overhead = microseconds(89.6),
       .fp8_dialect = Fp8Dialect::kOcp,
       .native_mxfp4 = true},
      // inference-sim hardware_config.json.
      {.name = "A100",
       .vendor = Vendor::kNvidia,
       .arch = "sm_80",
       .hbm_nominal = Bytes{80 * kGigabyte},
       .hbm = {85'899'345'920},
       .hbm_bandwidth = {2.039 * kTera},
       .bandwidth_efficiency = 0.866,
       .bf16_flops = {312 * kTera},
       .compute_efficiency = 0.696,
       .link_bandwidth = {300 * kGiga},
       .link_topology = LinkTopology::kSwitch,
       .scale_out_bandwidth = gigabits(200),
       .collective_latency = microseconds(16.18),
       .all_reduce_fits = {fit(2, 12.48, 176.7), fit(4, 16.18, 189.4), fit(8, 24.99, 203.2)},
       .layer_overhead = microseconds(28.2),
       .fp8_dialect = Fp8Dialect::kNone},
      // InferenceX hardware tables and aiconfigurator systems; nvidia-smi prints 81,559 MiB. Not the 94 GB
      // NVL part.
      {.name = "H100",
       .vendor = Vendor::kNvidia,
       .arch = "sm_90",
       .hbm_nominal = Bytes{80 * kGigabyte},
       .hbm = {85'520'809'984},
       .hbm_bandwidth = {3.35 * kTera},
       .bandwidth_efficiency = 0.866,
       .bf16_flops = {989 * kTera},
       .fp8_flops = {1979 * kTera},
       .compute_efficiency = 0.696,
       .attention_efficiency = 0.332,
       .efficiencies_measured = true,
       .link_bandwidth = {450 * kGiga},
       .link_topology = LinkTopology::kSwitch,
       .scale_out_bandwidth = gigabits(400),
       .collective_latency = microseconds(4.73),
       .all_reduce_fits = {fit(2, 4.28, 267.4), fit(4, 4.73, 308.3), fit(8, 5.2, 348.5)},
       .layer_overhead = microseconds(28.2),
       .fp8_dialect = Fp8Dialect::kOcp},
      // The same; nvidia-smi prints 143,771 MiB.
      {.name = "H200",
       .vendor = Vendor::kNvidia,
       .arch = "sm_90",
       .hbm_nominal = Bytes{141 * kGigabyte},
       .hbm = {150'754'820'096},
       .hbm_bandwidth = {4.8 * kTera},
       .bandwidth_efficiency = 0.835,
       .bf16_flops = {989 * kTera},
       .fp8_flops = {1979 * kTera},
       .compute_efficiency = 0.69,
       .efficiencies_measured = true,
       .link_bandwidth = {450 * kGiga},
       .link_topology = LinkTopology::kSwitch,
       .scale_out_bandwidth = gigabits(400),
       .collective_latency = microseconds(4.69),
       .all_reduce_fits = {fit(2, 4.45, 270.8), fit(4, 4.69, 316.6), fit(8, 5.03, 371.1)},
       .layer_overhead = microseconds(28.2),
       .fp8_dialect = Fp8Dialect::kOcp},
      // The same; 7.7 TB/s of aiconfigurator (InferenceX has 8.0), 180 GB usable of 192 physical.
      {.name = "B200",
       .vendor = Vendor::kNvidia,
       .arch = "sm_100",
       .hbm_nominal = Bytes{180 * kGigabyte},
       .hbm = {192'265'846'784},
       .hbm_bandwidth = {7.7 * kTera},
       .bandwidth_efficiency = 0.835,
       .bf16_flops = {2250 * kTera},
       .fp8_flops = {4500 * kTera},
       .fp4_flops = {9000 * kTera},
       .compute_efficiency = 0.69,
       .link_bandwidth = {900 * kGiga},
       .link_topology = LinkTopology::kSwitch,
       .scale_out_bandwidth = gigabits(400),
       .collective_latency = microseconds(7.2),
       .all_reduce_fits = {fit(2, 7, 489.8), fit(4, 7.2, 576), fit(8, 8.03, 558)},
       .layer_overhead = microseconds(5.7),
       .fp8_dialect = Fp8Dialect::kOcp,
       .native_mxfp4 = true,
       .native_nvfp4 = true},
      // The same; nvidia-smi reports 275,040 MiB. Dense FP4 is 13,500 (InferenceX) or 14,000
      // (aiconfigurator).
      {.name = "B300",
       .vendor = Vendor::kNvidia,
       .arch = "sm_103",
       .hbm_nominal = Bytes{288 * kGigabyte},
       .hbm = {288'400'343'040},
       .hbm_bandwidth = {7.75 * kTera},
       .bandwidth_efficiency = 0.835,
       .bf16_flops = {2250 * kTera},
       .fp8_flops = {4500 * kTera},
       .fp4_flops = {13500 * kTera},
       .compute_efficiency = 0.69,
       .link_bandwidth = {900 * kGiga},
       .link_topology = LinkTopology::kSwitch,
       .scale_out_bandwidth = gigabits(800),
       .collective_latency = microseconds(7.08),
       .all_reduce_fits = {fit(2, 6.95, 490.6), fit(4, 7.08, 577.7), fit(8, 7.47, 598.3)},
       .layer_overhead = microseconds(12.3),
       .fp8_dialect = Fp8Dialect::kOcp,
       .native_mxfp4 = true,
       .native_nvfp4 = true},
      // The same; nvidia-smi reports 189,471 MiB. The pair of GB200 is slow as measured, 195 GB/s.
      {.name = "GB200",
       .vendor = Vendor::kNvidia,
       .arch = "sm_100",
       .hbm_nominal = Bytes{186 * kGigabyte},
       .hbm = {198'674'743'296},
       .hbm_bandwidth = {8 * kTera},
       .bandwidth_efficiency = 0.835,
       .bf16_flops = {2500 * kTera},
       .fp8_flops = {5000 * kTera},
       .fp4_flops = {10000 * kTera},
       .compute_efficiency = 0.69,
       .link_bandwidth = {900 * kGiga},
       .link_topology = LinkTopology::kSwitch,
       .scale_up_world = 72,
       .scale_out_bandwidth = gigabits(400),
       .collective_latency = microseconds(5.37),
       .all_reduce_fits = {fit(2, 5.15, 195.2), fit(4, 5.37, 514.1)},
       .layer_overhead = microseconds(5.7),
       .fp8_dialect = Fp8Dialect::kOcp,
       .native_mxfp4 = true,
       .native_nvfp4 = true},
      // The same; the runtime figure is an estimate (284,208 MiB): check on the box.
      {.name = "GB300",
       .vendor = Vendor::kNvidia,
       .arch = "sm_103",
       .hbm_nominal = Bytes{288 * kGigabyte},
       .hbm = {298'013'687'808},
       .hbm_bandwidth = {8 * kTera},
       .bandwidth_efficiency = 0.835,
       .bf16_flops = {2500 * kTera},
       .fp8_flops = {5000 * kTera},
       .fp4_flops = {15000 * kTera},
       .compute_efficiency = 0.69,
       .link_bandwidth = {900 * kGiga},
       .link_topology = LinkTopology::kSwitch,
       .scale_up_world = 72,
       .scale_out_bandwidth = gigabits(800),
       .collective_latency = microseconds(7.38),
       .all_reduce_fits = {fit(2, 7.22, 498.7), fit(4, 7.38, 588.5)},
       .layer_overhead = microseconds(12.3),
       .fp8_dialect = Fp8Dialect::kOcp,
       .native_mxfp4 = true,
       .native_nvfp4 = true},
      // NVIDIA's data sheet, from memory.
      {.name = "L4",
       .vendor = Vendor::kNvidia,
       .arch = "sm_89",
       .hbm_nominal = Bytes{24 * kGigabyte},
       .hbm = {24'152'899'584},
       .hbm_bandwidth = {0.3 * kTera},
       .bandwidth_efficiency = 0.866,
       .bf16_flops = {121 * kTera},
       .fp8_flops = {242 * kTera},
       .compute_efficiency = 0.696,
       .link_bandwidth = {32 * kGiga},
       .link_topology = LinkTopology::kNone,
       .scale_up_world = 1,
       .collective_latency = microseconds(10),
       .layer_overhead = microseconds(28.2),
       .fp8_dialect = Fp8Dialect::kOcp},
      // AWS G5 pages, from memory; 70 TFLOPS on the AWS part, 125 on A10.
      {.name = "A10G",
       .vendor = Vendor::kNvidia,
       .arch = "sm_86",
       .hbm_nominal = Bytes{24 * kGigabyte},
       .hbm = {23'835'181'056},
       .hbm_bandwidth = {0.6 * kTera},
       .bandwidth_efficiency = 0.866,
       .bf16_flops = {70 * kTera},
       .compute_efficiency = 0.696,
       .link_bandwidth = {32 * kGiga},
       .link_topology = LinkTopology::kNone,
       .scale_up_world = 1,
       .collective_latency = microseconds(10),
       .layer_overhead = microseconds(28.2),
       .fp8_dialect = Fp8Dialect::kNone},
      // inference-sim hardware_config.json; its FP8 figure is the sparse one, halved here.
      {.name = "L40S",
       .vendor = Vendor::kNvidia,
       .arch = "sm_89",
       .hbm_nominal = Bytes{48 * kGigabyte},
       .hbm = {48'305'799'168},
       .hbm_bandwidth = {0.864 * kTera},
       .bandwidth_efficiency = 0.866,
       .bf16_flops = {362 * kTera},
       .fp8_flops = {733 * kTera},
       .compute_efficiency = 0.696,
       .link_bandwidth = {32 * kGiga},
       .link_topology = LinkTopology::kNone,
       .scale_up_world = 1,
       .collective_latency = microseconds(13.52),
       .all_reduce_fits = {fit(2, 5.35, 19), fit(4, 13.52, 3.7), fit(8, 24.79, 1.9)},
       .layer_overhead = microseconds(28.2),
       .fp8_dialect = Fp8Dialect::kOcp},
  };
}

}  // namespace

std::span<const Device> catalogue_devices() {
  static const std::vector<Device> devices = device_table();
  return devices;
}

}  // namespace fareway
