#pragma once

#include "placement/score/ask.hpp"
#include "placement/score/candidate_tile.hpp"

namespace fareway {

/// What the request would see on each replica:
///
///     TTFT = rest of the running step + prefills ahead + S·D(b, K) + P + wait for a seat or KV memory
///     S    = ⌈(queued + n)/(chunk − b)⌉ mixed steps; one with m prompt tokens reads
///            c1·(1 − k/E)^b·(1 − (1 − k/E)^m) of experts more than D(b, K)
///     wait = remaining × the larger of D/b × seats short and D/K × KV tokens short:
///            those who decode leave evenly
///     TPOT = D(b + queued + 1, K + queued prompts + own)/(1 − ρ)
///
/// A replica that spends ρ of its time on others' prefills decodes in the rest; ρ is a moving average over 20
/// s, at most 0.85. Requests of others that wait are taken to bring what this one brings, since nobody says.
/// Reads `cached` and `prefill`; writes `ttft` and `tpot`, seconds.
void predict(const CandidateTile& tile, const Ask& ask, TileScore& score);

/// Own-miss dollars: the class's value of a miss × P(miss),
///
///     P(miss) = 1 − Φ(ln((T_ttft + ½ s)/(TTFT + ½ s))/s₁)·Φ(ln(T_tpot/TPOT)/s₂)·Φ(ln(deadline/end to
///     end)/max(s₁, s₂))
///
/// where a target the class does not have counts as met. Predictions err by factors, hence the logarithms; s
/// is the spread of the errors seen on this replica for requests of this kind, never below what was seen.
/// Worked in probabilities of missing, p + q − p·q, so that small ones keep their digits. Reads `ttft` and
/// `tpot`; writes `miss_probability` (absolute error below 1e-5) and `own_miss`.
void price_own_miss(const CandidateTile& tile, const Ask& ask, TileScore& score);

}  // namespace fareway
