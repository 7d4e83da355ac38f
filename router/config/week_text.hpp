#pragma once

#include <string_view>
#include <vector>

#include "placement/rules/rule.hpp"
#include "router/config/problems.hpp"

namespace fareway {

/// Reads a window of the week in UTC: "mon-fri 08:00-18:00", "sat", "22:00-06:00". Days and hours may each be
/// left out, not both; ranges of either may wrap, and a night counts to the day it begins on. One window a
/// day, two where it reaches over the end of the week.
Checked<std::vector<WeekWindow>> parse_week_windows(std::string_view text);

}  // namespace fareway
