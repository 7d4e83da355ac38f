#pragma once

#include "placement/decision.hpp"

namespace fareway {

/// What a replica is doing, condensed from its reading and our own requests there. Counts are fractional
/// because foreign load is an estimate.
struct ReplicaLoad {
  double decoding{0};         ///< b: sequences in decode, ours and foreign
  double context{0};          ///< K: tokens of context they hold
  double queued{0};           ///< sequences that wait or prefill, ours and foreign
  double queued_context{0};   ///< their prompts, in tokens
  double queued_uncached{0};  ///< of those, tokens that still have to be computed
  double queued_prefill{0};   ///< seconds of prefill ahead of a new request
  double prefill_share{0};    ///< ρ: share of its time the replica spends on prefills
};

/// Over this many seconds the share of a replica's time that prefills take is averaged.
inline constexpr double kPrefillShareWindowSeconds = 20;
/// That share as it is at `now`: it fades while nothing is sent there.
double prefill_share(const Replica& replica, TimePoint now);

/// `typical_prompt`: what a foreign request that waits is taken to bring, since nobody says.
ReplicaLoad load_of(const Fleet& fleet, const Replica& replica, Tokens typical_prompt, TimePoint now);

/// TTFT = rest of the running step + queued prefill + S·D(b, K) + P + wait for a seat and for KV memory,
/// where S = ceil((queued + n)/(chunk − b)) mixed steps; TPOT = D(b + queued + 1, K + queued inputs + own)/(1
/// − ρ). Miss probability: see `miss_probability`.
Prediction predict(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                   const ReplicaLoad& load, Tokens cached);

/// P(miss) = 1 − Φ(ln(T_ttft/TTFT)/s₁)·Φ(ln(T_tpot/TPOT)/s₂)·Φ(ln(deadline/end-to-end)/max(s₁, s₂)); a target
/// the class does not have counts as met. Errors of such predictions multiply, hence the logs; s is learned.
/// `ttft` counts towards the end-to-end time also once it is settled, but can then no longer be late itself.
enum class FirstToken { kPending, kSeen };
struct Course {
  Tokens prompt;
  Seconds ttft{};
  FirstToken first_token{FirstToken::kPending};
  Seconds tpot{};
  double output{};  ///< tokens in all
};
double miss_probability(const ServiceClass& service_class, const Course& course,
                        const PredictionErrors& errors);

/// Group rate × the seconds this request adds, P + o·(c2 + c3·context). Zero on capacity that is paid anyway.
Usd gpu_dollars(const Fleet& fleet, const Replica& replica, Seconds added_work);

/// Σ over our requests q in flight there of V_q·[P(q misses with this one) − P(q misses without)]: the
/// newcomer's prefill stalls every decoder once in full, and makes each step slower for as long as both
/// decode.
Usd others_miss_dollars(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                        const ReplicaLoad& load, Tokens cached, TimePoint now);

}  // namespace fareway
