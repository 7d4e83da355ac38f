#pragma once

#include <array>
#include <cstdint>

#include "placement/fleet.hpp"
#include "placement/score/lanes.hpp"

namespace fareway {

/// Sixteen candidates for a request, member by member: what the dollar terms read of a replica, in seconds,
/// tokens and dollars. Filled by `CandidateTable`; b, K, D, P, c0 to c5 as in placement/model/deployment.hpp.
struct CandidateTile {
  // How fast it is and what it costs.
  FloatLanes per_prompt_token;   ///< c4
  FloatLanes per_prompt_pair;    ///< c5
  FloatLanes per_sequence;       ///< c2
  FloatLanes per_context_token;  ///< c3
  FloatLanes log_experts_left;   ///< ln(1 − k/E)
  FloatLanes usd_per_second;     ///< group rate; 0 on capacity that is paid anyway

  // What it is doing.
  FloatLanes step;             ///< D(b, K)
  FloatLanes experts_left;     ///< c1·(1 − k/E)^b: what a mixed step may read beyond D(b, K)
  FloatLanes running_step;     ///< rest of the step under way
  FloatLanes chunk_room;       ///< prompt tokens one mixed step takes, at least 1
  FloatLanes queued_uncached;  ///< prompt tokens ahead that are still to be computed
  FloatLanes foreign_waiting;  ///< requests of others that wait; taken to be like the newcomer
  FloatLanes prefill_behind;   ///< seconds of prefill ahead, without the one under way
  FloatLanes prefill_done;     ///< when the prefills ahead are done, seconds after the table's epoch
  FloatLanes prefill_share;    ///< ρ as it would have been at the epoch: it fades evenly
  FloatLanes next_step;        ///< D with the newcomer as one more sequence, its own context left out
  FloatLanes slower_step;      ///< of that, what the newcomer adds

  // How long a newcomer waits for room.
  FloatLanes seats_short;        ///< negative: seats are free
  FloatLanes step_per_sequence;  ///< D(b, K)/b; 0 where nobody decodes
  FloatLanes kv_tokens_free;     ///< before the newcomer's prompt
  FloatLanes step_per_kv_token;  ///< D(b, K)/K; 0 where nobody decodes
  FloatLanes mean_remaining;     ///< tokens those who decode have to go; negative: unknown

  // Whom a newcomer disturbs.
  FloatLanes disturbed_remaining;  ///< tokens they have to go: `StallCurve::remaining`, at least 1

  // How wrong predictions of it are, as 1/s.
  std::array<FloatLanes, kRequestKinds> certainty_of_ttft;
  std::array<FloatLanes, kRequestKinds> certainty_of_tpot;

  // What no dollar can buy.
  Lanes<std::int32_t> context_limit;  ///< tokens
  Lanes<std::uint32_t> violated;      ///< `Violation` of the replica's own state
  Lanes<std::uint32_t> pool;
};

/// What the terms make of a tile for one request; seconds, tokens and dollars.
struct TileScore {
  FloatLanes cached;
  FloatLanes prefill;
  FloatLanes added_work;
  FloatLanes ttft;
  FloatLanes tpot;
  FloatLanes miss_probability;
  FloatLanes gpu;
  FloatLanes own_miss;
  FloatLanes others_miss;
  FloatLanes preference;  ///< of the operator's rules: dollars off, so never more than zero
  FloatLanes total;       ///< infinite for a candidate that is excluded
  Lanes<std::uint32_t> violated;
};

}  // namespace fareway
