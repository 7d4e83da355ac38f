#pragma once

#include <cstddef>

#include "pricing/base/units.hpp"

namespace fareway {

/// How much may wait.
struct QueueLimits {
  std::size_t max_requests{4096};     ///< 0: nobody waits, everything is placed at once
  std::size_t max_bytes{256u << 20};  ///< of request bodies; 256 MiB
  Seconds max_wait{30};               ///< a class with a deadline may wait until that instead
};

}  // namespace fareway
