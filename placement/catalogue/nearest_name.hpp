#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fareway {

/// The same letters, whatever their case (ASCII).
bool same_name(std::string_view a, std::string_view b);

/// The candidate that `text` is probably a misspelling of: the nearest by edit distance that takes upper and
/// lower case as equal, if at most a third of the letters and no more than three are wrong.
std::optional<std::string> closest(std::string_view text, std::span<const std::string> candidates);

}  // namespace fareway
