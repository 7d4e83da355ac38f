#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "placement/fleet.hpp"
#include "placement/rules/rule_set.hpp"

namespace fareway {

/// Something about one rule that its author probably did not mean.
struct RuleFinding {
  std::size_t rule{};
  std::string key;   ///< of the rule, as its author wrote it: "models"
  std::string what;  ///< for people
};

/// Rules that no request can ever match, rules that change nothing for those they match, and rules that leave
/// the requests of some class without a pool that could serve them otherwise.
///
/// Exhaustive: matches change only at the rules' own bounds, so one prompt length and one minute for each
/// interval between them, with every model, class and kind of tenant, stand for all requests. Caps are taken
/// as open.
std::vector<RuleFinding> review_rules(const RuleSet& rules, const Fleet& fleet);

}  // namespace fareway
