#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What a client saw of one answer. What nobody measured is nothing.
struct ServedTimes {
  Tokens prompt;
  std::optional<Seconds> ttft;  ///< only streams show their first token
  Seconds duration{};           ///< arrival to last token
  std::optional<Tokens> output;
};

/// A service objective and what missing it is worth. A class has a TTFT and a TPOT target, or an end-to-end
/// deadline, or all three; a request misses when it misses any of them.
struct ServiceClass {
  std::string name;
  std::optional<Seconds> ttft;  ///< base; the target of one request grows with its prompt
  Seconds ttft_per_prompt_token{0};
  std::optional<Seconds> tpot;
  /// TPOT counts over at least so many tokens: of a 13-token answer the plain mean measures one prefill chunk
  /// of somebody else's.
  Tokens tpot_over{1};
  std::optional<Seconds> deadline;  ///< arrival to last token
  Usd miss;                         ///< worth of one missed request, however late
  Usd miss_per_second;              ///< and for each second it is late
  double attainment{0.99};          ///< share of requests that is meant to be met; only `check` judges by it

  std::optional<Seconds> ttft_target(Tokens prompt) const;
  /// The mean gap an answer of `output` tokens may show: for short answers more than `tpot`, see `tpot_over`.
  std::optional<Seconds> tpot_target(double output) const;
  /// Seconds past the target missed most; 0 where all were met; nothing where a target cannot be judged
  /// and none of the others is known to be missed.
  std::optional<Seconds> lateness(const ServedTimes& times) const;
  /// Dollars of being late; none for none.
  Usd miss_dollars(Seconds late) const;
};

/// E[max(0, X − target)] for a time X that is log-normal around `predicted` with `spread` (of ln X):
///     predicted·e^(s²/2)·Φ(d + s) − target·Φ(d),  d = ln(predicted/target)/s,
/// the price of a call option without interest. What a miss is worth by the second is this times the rate.
Seconds expected_lateness(Seconds target, Seconds predicted, double spread);

/// What a tenant allows, beyond who may ask for what: where its requests may run and how dear a device may
/// be.
struct TenantRules {
  std::string name;
  std::vector<ModelIndex> models;    ///< empty: all
  std::vector<std::string> regions;  ///< empty: all
  std::optional<NanoUsdPerHour> max_per_device_hour;
};

}  // namespace fareway
