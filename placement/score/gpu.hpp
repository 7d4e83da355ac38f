#pragma once

#include "placement/score/ask.hpp"
#include "placement/score/candidate_tile.hpp"

namespace fareway {

/// GPU dollars: group rate × the seconds of work this request *adds* to the replica,
///
///     added = P(n, h) + o·(c2 + c3·(n + h + o/2)),     P(n, h) = c4·n + c5·(n·h + n²/2)
///
/// for n uncached prompt tokens after h cached ones and o tokens of answer, each of which adds c2 to its step
/// and reads the context so far. The step's fixed part is spent whether the request is there or not, and so
/// is every second of reserved capacity: its rate here is 0. The meter's average share of the hour would make
/// the first request of an idle replica carry it whole, and everything would herd onto the busy ones.
///
/// Reads `cached`; writes `prefill` (P), `added_work` and `gpu`. Exact to single precision; never negative.
void price_gpu(const CandidateTile& tile, const Ask& ask, TileScore& score);

}  // namespace fareway
