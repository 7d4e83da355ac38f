#pragma once

#include "placement/decision.hpp"

namespace fareway::testing {

/// The dollar terms written out in double precision, request by request in flight: what the fast ones must
/// agree with. Formulae: placement/score/.
Prediction exact_prediction(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                            Tokens cached, TimePoint now);
Score exact_score(const RequestShape& request, const Fleet& fleet, const Replica& replica, Tokens cached,
                  TimePoint now);

/// Others'-miss dollars where everyone in flight is delayed by `stall` and each step takes `slower` longer
/// for as long as q and the newcomer both decode.
Usd exact_others_miss(const RequestShape& request, const Fleet& fleet, const Replica& replica, Seconds stall,
                      Seconds slower, TimePoint now);
/// The stall and the slower step that the newcomer brings.
struct Disturbance {
  Seconds stall{};
  Seconds slower{};
};
Disturbance disturbance(const RequestShape& request, const Fleet& fleet, const Replica& replica,
                        Tokens cached, TimePoint now);

/// What is expected of a request, or left to expect.
struct Course {
  Tokens prompt;
  Seconds ttft{};
  bool first_token_seen{
      false};  ///< then its TTFT counts towards the end-to-end time, but can no longer be late
  Seconds tpot{};
  double output{};   ///< tokens in all
  Seconds waited{};  ///< in the queue, before all of it
};
/// Expected dollars of missing: V·P(miss) and what the expected lateness past the target missed most is
/// worth.
Usd miss_dollars(const ServiceClass& service_class, const Course& course, const Spread& spread);
double miss_probability(const ServiceClass& service_class, const Course& course, const Spread& spread);

}  // namespace fareway::testing
