#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fareway {

/// Room that all connections of one loop share, so that one that waits holds none. Whatever lies here is
/// valid until its user's next suspension.
struct Scratch {
  std::array<char, 64u << 10> input;       ///< where every read lands
  std::string joined;                      ///< body bytes that did not lie together
  std::vector<std::string_view> pieces;    ///< of a body, as they lie in `input`
  std::vector<std::string_view> outgoing;  ///< what is to be written
};

}  // namespace fareway
