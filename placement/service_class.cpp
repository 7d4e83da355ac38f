#include "placement/service_class.hpp"

namespace fareway {

std::optional<Seconds> ServiceClass::ttft_target(Tokens prompt) const {
  if (!ttft) return std::nullopt;
  return *ttft + ttft_per_prompt_token * static_cast<double>(prompt.value);
}

}  // namespace fareway
