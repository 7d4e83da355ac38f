#pragma once

#include <cstdint>
#include <optional>

#include "placement/fleet.hpp"
#include "placement/request_shape.hpp"

namespace fareway {

/// One request's side of the terms, worked out once for all candidates. Targets are given as logarithms;
/// nothing where the class has none.
struct Ask {
  float prompt{};  ///< tokens
  float output{};  ///< tokens expected
  std::int32_t context_needed{};
  RequestKind kind{};
  std::optional<float> log_ttft_target;  ///< of target and `kTtftOffset`
  std::optional<float> log_tpot_target;
  std::optional<float> log_deadline;
  float miss_usd{};
  float miss_usd_per_second{};  ///< of being late
  float since_epoch{};          ///< seconds from the table's epoch until now
  float share_fade{};           ///< what is left of a prefill share since then
};

/// Tokens as lanes hold them; what does not fit is as good as without end.
std::int32_t saturated(Tokens tokens);

Ask ask_of(const RequestShape& request, const ServiceClass& service_class, Seconds since_epoch);

}  // namespace fareway
