#pragma once

#include <string>
#include <vector>

#include "placement/model/capacity_question.hpp"

namespace fareway {

/// The arithmetic of an answer, from a device's memory to sessions, as one would write it on a whiteboard.
/// Lines that add nothing (no window, one copy, all of the memory) are left out.
std::vector<ArithmeticLine> arithmetic_lines(const CapacityQuestion& question, const CapacityAnswer& answer);

/// "8 GiB", "16,528 MiB", "6,880 B" where that is exact, else two digits: "133.68 GiB".
std::string size_text(Bytes size);
/// With commas: "262,144".
std::string count_text(std::int64_t count);

}  // namespace fareway
