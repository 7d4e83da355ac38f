#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "placement/request_shape.hpp"
#include "pricing/base/units.hpp"

namespace fareway::emulator {

/// The emulated tokenizer: one token for every four bytes, the last one perhaps shorter.
inline constexpr std::int64_t kBytesPerToken = 4;
Tokens count_tokens(std::string_view text);

/// Seed of all that is made up for a prompt; the same prompt gets the same answer on every engine.
std::uint64_t seed_of(std::string_view prompt);

/// How long an answer is where the client sets no limit: 32 to 256 tokens.
Tokens natural_length(std::uint64_t seed);

/// The answer's token at `position`: four bytes of UTF-8, a word with its blank. Every eighth is made of
/// multi-byte characters. Four bytes each, so an answer of n tokens counts n when it comes back as part of
/// the next prompt.
std::string_view word(std::uint64_t seed, std::int64_t position);
std::string words(std::uint64_t seed, Tokens count);

/// One key for each full block of `kBlockTokens` tokens, chained: equal keys mean equal text up to there.
std::vector<BlockKey> block_keys(std::string_view text);

/// Components of an embedding, of unit length, made up from the text.
std::vector<float> embedding(std::string_view text, std::size_t dimensions);
std::string base64(std::string_view bytes);

/// A made-up identifier of 24 hexadecimal digits, another for every `number`.
std::string identifier(std::uint64_t seed, std::uint64_t number);

}  // namespace fareway::emulator
