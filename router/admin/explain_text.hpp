#pragma once

#include <string>

#include "placement/fleet.hpp"
#include "router/observe/decision_log.hpp"

namespace fareway {

/// One decision for people: a paragraph that says what was asked, why it went where it went and what came of
/// it, then every candidate's dollars in a table, an attempt each. Plain text of at most 120 columns where
/// names are short, with a newline at its end. `fleet` gives names and objectives only.
std::string explain_text(const DecisionRecord& record, const Fleet& fleet);

}  // namespace fareway
