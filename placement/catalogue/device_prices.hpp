#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pricing/base/units.hpp"

namespace fareway {

/// What devices cost an hour, by name as the catalogue spells it, and where that comes from.
struct DevicePrices {
  std::map<std::string, UsdPerHour, std::less<>> per_hour;
  std::string as_of;  ///< a date, or as much of one as is known
  std::string source;

  std::optional<UsdPerHour> of(std::string_view device) const;
};

/// Rental on three-year contracts as SemiAnalysis lists it; examples, for prices drift within weeks.
DevicePrices example_prices();

}  // namespace fareway
