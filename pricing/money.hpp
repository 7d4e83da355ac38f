#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pricing/base/units.hpp"

namespace fareway {

/// Reads a decimal dollar amount ("2.5", "0.000000001") exactly. Nothing on anything else: a sign, an
/// exponent, more than nine decimals, more than nine billion dollars, or stray characters.
std::optional<NanoUsd> parse_usd(std::string_view text);

/// "$1.234567890" without trailing zeros beyond the cents: "$0.00", "$2.50", "-$0.000000001".
std::string format_usd(NanoUsd amount);

}  // namespace fareway
