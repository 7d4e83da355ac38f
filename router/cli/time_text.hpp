#pragma once

#include <optional>
#include <string_view>

#include "pricing/base/units.hpp"

namespace fareway {

/// An instant as people write it: a time ago ("90s", "30min", "24h", "7d"), a UTC date ("2026-11-30") or a
/// UTC instant
/// ("2026-11-30T12:00:00Z"). Nothing on anything else.
std::optional<WallTime> parse_instant(std::string_view text, WallTime now);

}  // namespace fareway
