#pragma once

#include "placement/estimates/text_bytes.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What a request's prompt consists of, before a tokeniser has seen it.
struct PromptContent {
  TextBytes text;
  Tokens media{0};  ///< images and sounds
};

}  // namespace fareway
