#pragma once

#include <optional>
#include <string>

#include "placement/decision.hpp"

namespace fareway {

/// The cheapest feasible candidate that was not chosen; nullptr where there is none.
const Candidate* runner_up(const Decision& decision);

/// What the runner-up would have cost more; nothing where nothing was chosen or nothing else was feasible.
std::optional<Usd> margin(const Decision& decision);

/// What kept the candidate out: "context", "rule night-shift"; empty for a feasible one.
std::string exclusion_of(const Candidate& candidate);

/// Why `decision` came out as it did, as one sentence for people:
///
///     mi355x-glm costs $0.00123, $0.00045 less than b300-glm: cheaper GPU seconds; mi300x-glm cannot hold
///     200,400 tokens (context)
///
/// The reason given is the dollar term that separates the two most. `fleet` gives names only.
std::string explain(const RequestShape& shape, const Decision& decision, const Fleet& fleet);

}  // namespace fareway
