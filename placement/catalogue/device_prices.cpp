#include "placement/catalogue/device_prices.hpp"

namespace fareway {

std::optional<UsdPerHour> DevicePrices::of(std::string_view device) const {
  const auto found = per_hour.find(device);
  if (found == per_hour.end()) return std::nullopt;
  return found->second;
}

// SemiAnalysisAI/InferenceX-app at 77ca49a6, packages/app/src/lib/constants.ts, 25 % paid upfront.
DevicePrices example_prices() {
  return {.per_hour = {{"H100", {1.78}},
                       {"H200", {2.05}},
                       {"B200", {2.60}},
                       {"B300", {3.00}},
                       {"GB200", {2.60}},
                       {"GB300", {3.30}},
                       {"MI300X", {1.30}},
                       {"MI325X", {1.60}},
                       {"MI355X", {2.10}}},
          .as_of = "2026-08-15",
          .source = "SemiAnalysis, rental on three-year contracts"};
}

}  // namespace fareway
