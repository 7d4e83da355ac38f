#pragma once

#include <string_view>
#include <vector>

#include "placement/model/model.hpp"

namespace fareway {

/// A model of the catalogue. `repository` is where its weights are published (Hugging Face); people may call
/// it by that too.
struct ModelEntry {
  std::string_view repository;
  Model model;
};

// Where the figures come from, unless an entry says otherwise: the model's config.json as copied in
// aiconfigurator (ai-dynamo/aiconfigurator, model_configs). Parameters are counted from it, within 1 % of the
// published totals. Weights are parameters times the format's bytes with its scales, not file sizes; FP8,
// NVFP4 and INT4 leave embeddings and norms in bf16, MXFP4 all but the routed experts. KV: 2 x KV heads x
// head size x full-attention layers x 2 B; of MLA one latent a layer. Pairs: 4 x heads x head size x
// full-attention layers; of MLA 2 x heads x (query + value size) x layers.
std::vector<ModelEntry> dense_models();
std::vector<ModelEntry> expert_models();
std::vector<ModelEntry> latent_models();

}  // namespace fareway
