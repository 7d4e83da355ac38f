#pragma once

#include "adapters/engines/engine.hpp"
#include "tests/fuzz/check.hpp"

namespace fareway::fuzz {

/// What every reading promises, whatever the engine answered.
inline void check_reading(const LoadReading& reading) {
  FUZZ_CHECK(!reading.running || *reading.running >= 0);
  FUZZ_CHECK(!reading.waiting || *reading.waiting >= 0);
  FUZZ_CHECK(!reading.kv_usage || (*reading.kv_usage >= 0 && *reading.kv_usage <= 1));
  FUZZ_CHECK(!reading.kv_capacity || reading.kv_capacity->value > 0);
  FUZZ_CHECK(!reading.seats || *reading.seats > 0);
  FUZZ_CHECK(!reading.generated_tokens || *reading.generated_tokens >= 0);
}

}  // namespace fareway::fuzz
