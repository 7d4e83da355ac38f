#pragma once

#include <cstdint>

#include "placement/model/device.hpp"
#include "placement/model/model.hpp"
#include "placement/model/number_format.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// Tensor, pipeline, expert, data and decode-context parallel degrees. A replica has tp × pp × dp devices; EP
/// spreads experts over the same devices, DP gives each of its ranks the KV of its own sequences (DP
/// attention), DCP splits the KV of one sequence over ranks that would hold copies.
struct Parallelism {
  std::uint32_t tp{1};
  std::uint32_t pp{1};
  std::uint32_t ep{1};
  std::uint32_t dp{1};
  std::uint32_t dcp{1};
  std::uint32_t devices() const { return tp * pp * dp; }
  bool operator==(const Parallelism&) const = default;
};

/// How a replica's memory is to be used.
struct MemoryPlan {
  Bytes weights;             ///< in all devices together, with every copy that parallelism makes
  Bytes reserve_per_device;  ///< runtime, activations, graphs
  double utilisation{1.0};   ///< share of the HBM that the engine may take, reserve included (vLLM:
                             ///< gpu_memory_utilization); above 0, at most 1
  KvFormat kv_format{KvFormat::kBf16};
};

/// What fits, by arithmetic:
///     KV pool  = stages × tp × dp × (HBM reported × utilisation − runtime reserve) − weights
///     sequence = KV bytes per token × tokens + window KV bytes per token × min(tokens, window) + constant
///     state sessions = pools × floor(KV pool / pools / sequence)
/// The fullest pipeline stage is full first, so pp stages count as layers / ceil(layers / pp). DP ranks do
/// not share their pools. Nothing here allocates; sums stay within 64 bits for sizes within the
/// configuration's limits.
struct Capacity {
  Bytes kv_pool;       ///< negative: the weights do not fit, by that much
  Bytes kv_per_token;  ///< with the copies that TP beyond the KV heads makes
  Bytes state_per_sequence;
  Bytes window_kv_per_token;  ///< with copies too
  Tokens window;
  std::int64_t pools{1};  ///< equal parts of `kv_pool` that no sequence spans: the DP degree

  Bytes sequence(Tokens context) const;
  std::int64_t sessions(Tokens context) const;
  /// Tokens of the longest single sequence; 0 where nothing fits.
  Tokens longest_sequence() const;
};

/// How often the KV of one token is stored in a TP group: every rank holds at least one KV head, so beyond
/// the model's heads (one for MLA) they are copies, which DCP splits up again.
std::int64_t kv_copies(const Model& model, const Parallelism& parallelism);

Capacity capacity_of(const Model& model, const Device& device, const Parallelism& parallelism,
                     const MemoryPlan& plan);

}  // namespace fareway
