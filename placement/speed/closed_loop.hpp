#pragma once

#include "placement/model/speed.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// `concurrency` clients that send the next request as soon as their last one is answered: how serving
/// benchmarks load an engine.
struct ClosedLoop {
  double input_tokens{};
  double output_tokens{};
  double concurrency{};
};

/// Time per output token in a steady closed loop without prefix hits: the decode step at the mean context,
/// and the prefills of others that come between steps, one for every `output_tokens` steps of each sequence:
///     D(b, b·(in + out/2)) + b/out × P(in, 0)
Seconds loaded_tpot(const SpeedProfile& profile, const ClosedLoop& load);

/// Output tokens per second of all clients together: each has one request in flight that takes TTFT and then
/// (out − 1) × TPOT.
double output_tokens_per_second(const SpeedProfile& profile, Seconds first_token, const ClosedLoop& load);

/// Time to first token on an idle replica with nothing cached: fixed part, prefill, one step.
Seconds cold_ttft(const SpeedProfile& profile, Seconds first_token, double input_tokens);

}  // namespace fareway
