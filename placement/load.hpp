#pragma once

#include <optional>

#include "placement/fleet.hpp"

namespace fareway {

/// What a replica is doing, condensed from its reading and our own requests there. Counts are fractional
/// because foreign load is an estimate. Requests of others that wait count in `queued`; what they bring
/// nobody says.
struct ReplicaLoad {
  double decoding{0};         ///< b: sequences in decode, ours and foreign
  double context{0};          ///< K: tokens of context they hold
  double queued{0};           ///< sequences that wait or prefill, ours and foreign
  double queued_context{0};   ///< our prompts among them, in tokens
  double queued_uncached{0};  ///< of those, tokens that still have to be computed
  Seconds prefill_behind{};   ///< our queued prefills without the one under way
  Seconds prefill_left{};     ///< ours that are left at `now`, the one under way included; negative: overdue
  double prefill_share{0};    ///< ρ at `now`: share of its time the replica spends on prefills
  std::optional<double> mean_remaining;  ///< tokens those of ours that decode have to go
};

/// Over this many seconds the share of a replica's time that prefills take is averaged.
inline constexpr double kPrefillShareWindowSeconds = 20;
/// However much prefill is sent there, this much of a replica's time is taken to be prefill at most.
inline constexpr float kLargestPrefillShare = 0.85F;

/// That share as it is at `now`, not capped: it fades while nothing is sent there.
double prefill_share(const Replica& replica, TimePoint now);

/// O(requests in flight there).
ReplicaLoad load_of(const Fleet& fleet, const Replica& replica, TimePoint now);

/// Seconds between two tokens of a sequence that decodes there now: D(b + queued, K + queued prompts)/(1 −
/// ρ).
Seconds pace_of(const SpeedProfile& speed, const ReplicaLoad& load);

}  // namespace fareway
