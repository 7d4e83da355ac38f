#pragma once

#include <span>
#include <string>
#include <vector>

#include "placement/model/capacity_question.hpp"

namespace fareway {

/// What would hold one session of the question, where the question itself does not: more of the same device,
/// as many of another one, another checkpoint or cache format, a shorter context. One remedy a line, the
/// least change first.
std::vector<std::string> capacity_remedies(const CapacityQuestion& question,
                                           std::span<const Device> alternatives);

}  // namespace fareway
