#pragma once

#include <cstddef>

namespace fareway::testing {

/// Calls of operator new since the program began, on all threads. Link tests/support/allocations.cpp, which
/// replaces operator new by one that counts; under AddressSanitizer it is 0 for ever.
std::size_t allocations();

}  // namespace fareway::testing
