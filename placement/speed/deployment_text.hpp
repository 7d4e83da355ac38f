#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "placement/model/device.hpp"
#include "placement/model/model.hpp"
#include "placement/model/number_format.hpp"
#include "placement/speed/roofline.hpp"
#include "placement/speed/speculation.hpp"

namespace fareway {

/// A deployment as people write it, resolved against the catalogue for one model:
///
///     deployment = [count "x"] device *(":" part)         MI300X, 8xMI355X, B200:2x8:tp16, B300:tp8:dcp8:fp8
///     part       = nodes "x" devices                      devices in all, 2x8
///                | ("tp" | "pp" | "dp" | "ep" | "dcp") n
///                | "bf16" | "fp8" | "fp8_fnuz" | "int4" | "mxfp4" | "nvfp4"     checkpoint
///                | "kv=" ("bf16" | "fp8")
///                | ("mtp" | "eagle3-" | "dspark") n       speculative decoding with n drafted tokens
///
/// Without a device count, the degrees say it (tp × pp × dp), else it is one. Without tp, all devices that pp
/// and dp leave. Without a format, the model's first checkpoint that the device runs without emulating it,
/// else the first that it does not compute wrongly.
struct NamedDeployment {
  std::string text;  ///< as it was written
  const Model* model{};
  const Device* device{};
  Parallelism parallelism;
  NumberFormat format{NumberFormat::kBf16};
  KvFormat kv_format{KvFormat::kBf16};
  Bytes weights;
  std::optional<Speculation> speculation;
  std::string speculation_method;

  Placement placement() const;
};

/// Why a text names no deployment, for the person who wrote it.
struct DeploymentTextError {
  std::string what;
};

boost::system::result<NamedDeployment, DeploymentTextError> parse_deployment(const Model& model,
                                                                             std::string_view text);

}  // namespace fareway
