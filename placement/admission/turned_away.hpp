#pragma once

#include <cstdint>
#include <string_view>

namespace fareway {

/// Why a request does not wait, or no longer.
enum class TurnedAway : std::uint8_t {
  kFull,       ///< as many requests wait as may
  kFullBytes,  ///< and their bodies take as much memory as they may
  kTooLate,    ///< by the predicted drain it would miss its objective by far
  kDisplaced,  ///< the queue is full, and somebody's miss is worth more, or whose tenant has less waiting
  kAge,        ///< it has waited for as long as it may
};
std::string_view to_string(TurnedAway why);

}  // namespace fareway
