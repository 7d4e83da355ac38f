#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/model/number_format.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

enum class Vendor { kOther, kAmd, kNvidia };

/// How the devices of one scale-up domain reach each other. Behind a switch a device may send all it has to
/// one peer; in a mesh each peer has its own link, so a small group gets only some of them.
enum class LinkTopology { kNone, kSwitch, kMesh };

/// One all-reduce of S bytes among n devices takes latency + 2(n − 1)/n × S / bus_bandwidth.
struct AllReduce {
  std::uint32_t devices{};
  Seconds latency{};
  BytesPerSecond bus_bandwidth;
};

/// One accelerator. Peaks are dense and of the data sheet; efficiencies are the share of the peak that
/// kernels reach.
struct Device {
  std::string name;
  Vendor vendor{Vendor::kOther};
  std::string arch;  ///< the target that kernels are built for: "gfx942", "sm_100"; empty where unknown
  std::optional<Bytes> hbm_nominal;  ///< as sold
  Bytes hbm;                         ///< as its runtime reports it, before any framework
  BytesPerSecond hbm_bandwidth;
  double bandwidth_efficiency{};  ///< of a memory copy
  FlopsPerSecond bf16_flops;
  FlopsPerSecond fp8_flops;                    ///< 0 where the device has no FP8 units
  FlopsPerSecond fp4_flops;                    ///< 0 where the device has no FP4 units
  double compute_efficiency{};                 ///< of large matrix products
  std::optional<double> attention_efficiency;  ///< of FlashAttention, share of the bf16 peak; where measured
  bool efficiencies_measured{false};           ///< on this device; false: taken from its nearest kin
  BytesPerSecond link_bandwidth;               ///< scale-up, one direction, one device to all its peers
  BytesPerSecond link_pairwise;  ///< to one peer; 0 behind a switch, where one peer gets all of it
  LinkTopology link_topology{LinkTopology::kSwitch};
  std::uint32_t scale_up_world{8};                    ///< devices that the scale-up links join
  std::optional<BytesPerSecond> scale_out_bandwidth;  ///< network of one device, one direction
  Seconds collective_latency{};  ///< fixed part of one all-reduce in a group that has no fit of its own
  std::vector<AllReduce> all_reduce_fits;  ///< measured, by ascending number of devices
  Seconds layer_overhead{};                ///< launch and glue time a layer and step
  Fp8Dialect fp8_dialect{Fp8Dialect::kNone};
  bool native_mxfp4{false};
  bool native_nvfp4{false};

  /// What one device can send at once inside a TP group of `tp`: a mesh gives a small group only some of its
  /// links, and a group larger than the scale-up domain gets the network where that is known.
  BytesPerSecond group_bandwidth(std::uint32_t tp) const;
  /// The all-reduce of a group of `devices`: the fit of the smallest measured group that is at least as
  /// large, else the fixed latency over the links.
  AllReduce all_reduce(std::uint32_t devices) const;
};

}  // namespace fareway
