#pragma once

#include <chrono>
#include <string_view>

#include "pricing/base/units.hpp"
#include "router/config/problems.hpp"

namespace fareway {

// Values with a unit, as people write them: "250ms", "192GiB", "5.3TB/s". A unit is always required, one
// space may stand before it, and there is no sign and no exponent. Results are the nearest value the type can
// hold.

/// ns, us, ms, s, min, h; up to a year.
Checked<Seconds> parse_seconds(std::string_view text);
/// The same units for deadlines and timeouts; refuses what is not a whole number of milliseconds.
Checked<std::chrono::milliseconds> parse_milliseconds(std::string_view text);
/// B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024); at most six decimals.
Checked<Bytes> parse_bytes(std::string_view text);
/// GB/s, TB/s.
Checked<BytesPerSecond> parse_bandwidth(std::string_view text);
/// TFLOPS, PFLOPS.
Checked<FlopsPerSecond> parse_flops(std::string_view text);

/// A decimal number without unit, sign or exponent.
Checked<double> parse_decimal(std::string_view text);

/// RFC 3339, years 1970 to 2200: "2026-03-01T00:00:00Z", "2026-03-01T08:30:00.5+01:00".
Checked<WallTime> parse_rfc3339(std::string_view text);

}  // namespace fareway
