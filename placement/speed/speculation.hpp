#pragma once

#include "placement/model/speed.hpp"

namespace fareway {

/// Speculative decoding: a draft proposes `drafted` tokens, one step of the model verifies them and yields
/// `accepted` tokens in the mean, its own included.
struct Speculation {
  double drafted{};
  double accepted{1};
  double draft_share{};  ///< of a step's floor that the draft costs: its layers over the model's
};

/// Seconds per *accepted* token: a step reads the experts that drafted + 1 tokens a sequence pick, computes
/// as many, reads the KV once, runs the draft besides, and all of it is spread over the accepted ones.
SpeedProfile with_speculation(const SpeedProfile& profile, const Speculation& speculation);

}  // namespace fareway
