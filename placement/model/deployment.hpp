#pragma once

#include <cstdint>
#include <string>

#include "placement/model/capacity.hpp"
#include "placement/model/number_format.hpp"
#include "placement/model/speed.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// Model × checkpoint format × engine × device × parallelism: what a replica runs.
struct Deployment {
  std::string name;
  ModelIndex model;
  NumberFormat format{NumberFormat::kBf16};
  FormatSupport format_support{FormatSupport::kNative};
  std::string format_reason;    ///< why that, in words
  double format_slowdown{1.0};  ///< of all that touches the weights; in `speed` already
  Parallelism parallelism;
  Bytes weights;  ///< in all devices together, with the copies that parallelism makes
  KvFormat kv_format{KvFormat::kBf16};
  Capacity capacity;
  SpeedProfile speed;
  SpeedBasis speed_basis;
  Tokens context_limit;      ///< the engine's limit on prompt + output; at most what the KV pool holds
  std::uint32_t seats{256};  ///< sequences the engine runs at once
  Tokens chunk{8192};        ///< tokens one mixed step may process (chunked prefill)
};

}  // namespace fareway
