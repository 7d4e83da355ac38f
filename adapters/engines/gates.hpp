#pragma once

#include <cstdint>
#include <optional>

namespace fareway {

// Gates between an engine's numbers and a `LoadReading`. What does not pass is unknown, never zero.

/// A fraction in use. Rounding noise is clamped to 0..1: down to -0.01, and up to 1.5, which some engines
/// show for a moment while blocks are shared. Beyond that, or not finite, the number means something else (a
/// percentage, say).
std::optional<double> gated_usage(double value);

/// A count of requests or tokens, rounded; nothing where it is negative, not finite or beyond what a double
/// counts exactly.
std::optional<std::int64_t> gated_count(double value);

}  // namespace fareway
