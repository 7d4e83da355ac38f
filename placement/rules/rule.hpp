#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What an operator wants of placements beyond dollars.
enum class RuleAction : std::uint8_t {
  kRequire,  ///< only these pools
  kPrefer,   ///< these pools seem cheaper, by so many dollars a request
  kForbid,   ///< not these pools
  kCap,      ///< at most so many of this router's requests at a time in these pools together
};
std::string_view to_string(RuleAction action);

/// Minutes of a week that begins on Monday at 00:00 UTC, half open.
inline constexpr std::uint32_t kMinutesOfWeek = 7 * 24 * 60;
struct WeekWindow {
  std::uint32_t from{0};
  std::uint32_t until{kMinutesOfWeek};
  bool operator==(const WeekWindow&) const = default;
};
/// The minute of the week that `now` lies in.
std::uint32_t minute_of_week(WallTime now);

/// Requests a rule speaks of. An empty list means any.
struct RuleCondition {
  std::vector<ModelIndex> models;
  std::vector<ClassIndex> classes;
  std::vector<TenantIndex> tenants;
  Tokens prompt_from{0};                 ///< estimated prompt tokens, at least
  std::optional<Tokens> prompt_below{};  ///< and fewer than that
  std::vector<WeekWindow> times;
};

struct Rule {
  std::string name;
  RuleAction action{RuleAction::kForbid};
  RuleCondition when;
  std::vector<PoolIndex> pools;     ///< empty: all
  Usd preference;                   ///< of kPrefer: more than zero
  std::uint32_t most_in_flight{0};  ///< of kCap
};

}  // namespace fareway
