#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placement/model/number_format.hpp"
#include "pricing/base/units.hpp"
#include "pricing/list_prices.hpp"

namespace fareway {

/// One form in which a model's weights exist.
struct Checkpoint {
  NumberFormat format{NumberFormat::kBf16};  ///< of most of the bytes; what the checkpoint is called by
  std::optional<NumberFormat> also;          ///< of the rest, where that is neither `format` nor bf16
  Bytes weights;                             ///< one copy of all of it
};

/// What a model is, whatever runs it. Zero stands for what the model does not have; what is not known of it
/// is optional.
struct Model {
  std::string name;  ///< as clients ask for it
  std::int64_t total_parameters{};
  std::int64_t active_parameters{};
  std::uint32_t layers{};
  std::uint32_t full_attention_layers{};  ///< every token attends to all earlier ones (MLA among them)
  std::uint32_t sliding_window_layers{};  ///< to the last `window` ones
  std::uint32_t linear_layers{};          ///< to a recurrent state of constant size
  std::uint32_t hidden_size{};
  std::optional<std::uint32_t> heads;     ///< query heads; a TP degree divides them
  std::uint32_t kv_heads{1};              ///< 1 for MLA: one latent shared by all heads
  std::optional<std::uint32_t> head_dim;  ///< of MLA: the latent with its rotary part
  bool latent_attention{false};           ///< MLA
  std::optional<std::uint32_t> vocabulary;
  std::uint32_t experts{0};  ///< routed ones a layer; 0 for a dense model
  std::uint32_t experts_per_token{0};
  std::uint32_t shared_experts{0};
  Bytes kv_per_token;                       ///< all full-attention layers, bf16 cache, before replication
  std::optional<Bytes> kv_per_token_fp8;    ///< the same in an FP8 cache; nothing: half of it
  Tokens window;                            ///< of the sliding-window layers
  Bytes window_kv_per_token;                ///< all sliding-window layers, bf16, for each token of the window
  Bytes state_per_sequence;                 ///< constant state of linear layers, `conv_state` included
  Bytes conv_state;                         ///< the part of it that short convolutions keep
  std::int64_t attention_flops_per_pair{};  ///< per (new token, context token) pair in prefill: 4 × heads ×
                                            ///< head size × attention layers
  Tokens context_limit;
  std::vector<Checkpoint> checkpoints;  ///< those whose size is known; the publisher's own first
  std::optional<ListPrice> list_price;  ///< nothing: no price is known, and none is charged

  /// The checkpoint in `format`; null where its size is not known.
  const Checkpoint* checkpoint(NumberFormat format) const;
  /// Share of the parameters that routed experts hold, from total = rest + X and active = rest + X·k/E. 0 for
  /// a dense model.
  double expert_share_of_parameters() const;
};

}  // namespace fareway
