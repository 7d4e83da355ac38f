#include "placement/speed/closed_loop.hpp"

namespace fareway {

Seconds loaded_tpot(const SpeedProfile& profile, const ClosedLoop& load) {
  const double context = load.concurrency * (load.input_tokens + load.output_tokens / 2);
  return profile.step(load.concurrency, context) +
         load.concurrency / load.output_tokens * profile.prefill(load.input_tokens, 0);
}

double output_tokens_per_second(const SpeedProfile& profile, Seconds first_token, const ClosedLoop& load) {
  const Seconds request = cold_ttft(profile, first_token, load.input_tokens) +
                          (load.output_tokens - 1) * loaded_tpot(profile, load);
  return load.concurrency * load.output_tokens / request.count();
}

Seconds cold_ttft(const SpeedProfile& profile, Seconds first_token, double input_tokens) {
  return first_token + profile.prefill(input_tokens, 0) + profile.step(1, input_tokens);
}

}  // namespace fareway
