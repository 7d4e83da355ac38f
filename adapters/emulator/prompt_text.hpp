#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace fareway::emulator {

/// A whole conversation as the one text a chat template makes of it, ending where the assistant's answer
/// begins.
///
/// `turns` is a string or an array of messages and other items; instructions, system prompt and tools are
/// taken from `body` and come first. An answer sent back as the assistant's turn continues the very text it
/// was made from, so its prefix is cached. An image or a file counts one block of tokens. Empty where `turns`
/// is neither string nor array.
std::string conversation(const nlohmann::json& body, const nlohmann::json& turns);

/// The prompts of /v1/completions and /v1/embeddings: a string, a list of strings, token ids, or lists of
/// those. Empty where `input` is nothing of the kind.
std::vector<std::string> plain_prompts(const nlohmann::json& input);

}  // namespace fareway::emulator
