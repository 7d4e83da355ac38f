#pragma once

#include <cstdint>
#include <string>

#include "placement/slow_downs.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

// Numbers as explanations write them.

/// "$0.00123": cents from a dollar up, three significant digits below it; "-$0.002" below zero.
std::string dollars(double amount);
/// "12,288"
std::string with_commas(std::int64_t number);
/// "3.2 %", whole from ten on
std::string percent(double share);
/// "1.2 s", "35 ms", "2.1 min": two significant digits, three from a tenth of a second on
std::string span_of(Seconds time);

/// "west-2 takes 2.7 times as long as its 3 siblings and 3.0 times what its profile says to decode (24
/// observations, spread 6.0 %)"
std::string slow_down_text(const SlowDown& slow, const Fleet& fleet);

}  // namespace fareway
