#pragma once

#include <span>

#include "placement/score/ask.hpp"
#include "placement/score/candidate_tile.hpp"
#include "placement/score/stall_curve.hpp"

namespace fareway {

/// Others'-miss dollars: Σ over our requests q in flight there of V_q·[P(q misses with the newcomer) − P(q
/// misses without)]. The newcomer's prefill stalls everybody once in full, and each step is slower while both
/// decode:
///
///     delay of q = P + min(remaining_q, o)·(D(b + 1, K + own) − D(b, K))/(1 − ρ)
///
/// This term earns most of the goodput: nothing else charges a 100k-token prompt for the fifty decoders it
/// stops.
///
/// The replica's `StallCurve` is read at one delay for all: that of those whom a short one costs most. Their
/// lengths to go lie about evenly between 0 and twice their mean r, so the mean of min(remaining, o) is o −
/// o²/4r, and r beyond 2r. A stall is taken in full; how far the dollars are off is in the test of this file.
/// Reads `prefill`; writes `others_miss`, never negative.
void price_others_miss(const CandidateTile& tile, std::span<const StallCurve, kLanes> curves, const Ask& ask,
                       TileScore& score);

}  // namespace fareway
