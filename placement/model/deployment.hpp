#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "placement/model/device.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"
#include "pricing/list_prices.hpp"

namespace fareway {

/// What a model is, whatever runs it.
struct Model {
  std::string name;  ///< as clients ask for it
  std::int64_t total_parameters{};
  std::int64_t active_parameters{};
  std::uint32_t layers{};
  std::uint32_t hidden_size{};
  std::uint32_t kv_heads{1};  ///< 1 for MLA: one latent shared by all heads
  std::uint32_t experts{0};   ///< 0 for a dense model
  std::uint32_t experts_per_token{0};
  Bytes kv_per_token;                       ///< all layers, in the KV cache's own format, before replication
  Bytes state_per_sequence;                 ///< constant recurrent state (hybrid models)
  std::int64_t attention_flops_per_pair{};  ///< per (new token, context token) pair in prefill: 4 × heads ×
                                            ///< head size × attention layers
  Tokens context_limit;
  std::optional<ListPrice> list_price;  ///< nothing: no price is known, and none is charged
};

/// Tensor, expert, data and decode-context parallel degrees. A replica has tp × dp devices; EP spreads
/// experts over the same devices, DCP splits the KV of one sequence over ranks that would hold copies.
struct Parallelism {
  std::uint32_t tp{1};
  std::uint32_t ep{1};
  std::uint32_t dp{1};
  std::uint32_t dcp{1};
  std::uint32_t devices() const { return tp * dp; }
};

/// What fits, by arithmetic (design, "capacity is arithmetic"):
///     KV pool  = devices × (HBM reported − runtime reserve) − weights
///     sequence = KV bytes per token × tokens + constant state
///     sessions = floor(KV pool / sequence)
struct Capacity {
  Bytes kv_pool;       ///< negative: the weights do not fit, by that much
  Bytes kv_per_token;  ///< with the copies that TP beyond the KV heads makes
  Bytes state_per_sequence;

  Bytes sequence(Tokens context) const;
  std::int64_t sessions(Tokens context) const;
  /// Tokens of the longest single sequence; 0 where nothing fits.
  Tokens longest_sequence() const;
};

/// How fast a deployment is, as coefficients of one engine step (seconds):
///     step(b, K)    = c0 + c1·hit(b) + c2·b + c3·K      b decoding sequences that hold K tokens of context
///     hit(b)        = 1 − (1 − k/E)^b                   share of the experts read; 1 for dense models
///     prefill(n, h) = c4·n + c5·(n·h + n²/2)            n uncached tokens after h cached ones
struct SpeedProfile {
  double step_floor{};         ///< c0: weights every step reads, launch overhead, collectives' latency
  double expert_weights{};     ///< c1: reading all routed experts
  double per_sequence{};       ///< c2
  double per_context_token{};  ///< c3
  double per_prompt_token{};   ///< c4
  double per_prompt_pair{};    ///< c5
  double expert_share{1.0};    ///< k/E

  Seconds step(double sequences, double context_tokens) const {
    return mixed_step(sequences, context_tokens, 0);
  }
  /// A step that also processes `prompt_tokens` of prefill, without that prefill's own time: they too pick
  /// experts.
  Seconds mixed_step(double sequences, double context_tokens, double prompt_tokens) const;
  Seconds prefill(double uncached, double cached) const;
  /// Seconds of work one more sequence adds: its prefill, and what each of its tokens adds to a step.
  Seconds added_work(double uncached, double cached, double output) const;
};

/// Model × checkpoint format × engine × device × parallelism: what a replica runs.
struct Deployment {
  std::string name;
  ModelIndex model;
  NumberFormat format{NumberFormat::kBf16};
  FormatSupport format_support{FormatSupport::kNative};
  Parallelism parallelism;
  Bytes weights;
  Capacity capacity;
  SpeedProfile speed;
  Tokens context_limit;      ///< the engine's limit on prompt + output; at most what the KV pool holds
  std::uint32_t seats{256};  ///< sequences the engine runs at once
  Tokens chunk{8192};        ///< tokens one mixed step may process (chunked prefill)
};

Capacity capacity_of(const Model& model, const Device& device, const Parallelism& parallelism, Bytes weights,
                     Bytes reserve_per_device);

/// Roofline with measured efficiencies: bytes read per step over attained bandwidth, FLOPs over attained
/// peak, two all-reduces a layer. Good to a factor of two unmeasured; live errors are learned on top
/// (`Replica::errors`).
SpeedProfile roofline(const Model& model, const Device& device, const Parallelism& parallelism, Bytes weights,
                      NumberFormat format);

}  // namespace fareway
