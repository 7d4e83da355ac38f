#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// A service objective and what missing it is worth. A class has a TTFT and a TPOT target, or an end-to-end
/// deadline, or all three; a request misses when it misses any of them.
struct ServiceClass {
  std::string name;
  std::optional<Seconds> ttft;  ///< base; the target of one request grows with its prompt
  Seconds ttft_per_prompt_token{0};
  std::optional<Seconds> tpot;
  std::optional<Seconds> deadline;  ///< arrival to last token
  Usd miss;                         ///< worth of one missed request

  std::optional<Seconds> ttft_target(Tokens prompt) const;
};

/// What a tenant allows, beyond who may ask for what: where its requests may run and how dear a device may
/// be.
struct TenantRules {
  std::string name;
  std::vector<ModelIndex> models;    ///< empty: all
  std::vector<std::string> regions;  ///< empty: all
  std::optional<NanoUsdPerHour> max_per_device_hour;
};

}  // namespace fareway
