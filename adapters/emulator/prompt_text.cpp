#include "adapters/emulator/prompt_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/emulator/text.hpp"

namespace fareway::emulator {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 9> kMedia{"image",       "image_url",  "input_image",
                                                 "input_audio", "audio_url",  "video_url",
                                                 "file",        "input_file", "document"};

/// One block of tokens, the same for the same image.
std::string media(const Json& part) {
  const std::string digits = fmt::format("{:016x}", seed_of(part.dump()));
  std::string text;
  while (text.size() < static_cast<std::size_t>(kBlockTokens * kBytesPerToken)) text += digits;
  return text;
}

/// Anything that is neither text nor media (tool calls, their results) is read as its JSON: an image inside a
/// tool's result counts all its bytes.
std::string part_text(const Json& part) {
  if (part.is_string()) return part.get<std::string>();
  if (!part.is_object()) return part.dump();
  if (const auto text = part.find("text"); text != part.end() && text->is_string())
    return text->get<std::string>();
  const auto type = part.find("type");
  if (type != part.end() && type->is_string() &&
      std::ranges::count(kMedia, type->get<std::string_view>()) > 0)
    return media(part);
  return part.dump();
}

std::string content_text(const Json& content) {
  if (content.is_null()) return {};
  if (!content.is_array()) return part_text(content);
  std::string text;
  for (const Json& part : content) text += part_text(part);
  return text;
}

std::string turn(std::string_view role, std::string_view text) {
  return fmt::format("<|{}|>\n{}\n", role, text);
}

std::string turn_text(const Json& item) {
  if (!item.is_object()) return turn("user", part_text(item));
  const auto role = item.find("role");
  // An item without a role is a tool's call or result in the Responses API.
  if (role == item.end() || !role->is_string()) return turn("tool", item.dump());
  std::string text = item.contains("content") ? content_text(item.at("content")) : std::string{};
  if (const auto calls = item.find("tool_calls"); calls != item.end() && !calls->is_null())
    text += calls->dump();
  return turn(role->get<std::string_view>(), text);
}

bool is_token_list(const Json& input) {
  return input.is_array() && !input.empty() &&
         std::ranges::all_of(input, [](const Json& token) { return token.is_number_unsigned(); });
}

/// Four bytes a token, so that the tokenizer counts as many as there are ids.
std::string token_text(const Json& ids) {
  std::string text;
  for (const Json& id : ids)
    for (unsigned shift = 0; shift < 32; shift += 8)
      text += static_cast<char>((id.get<std::uint64_t>() >> shift) & 0xffU);
  return text;
}

}  // namespace

std::string conversation(const Json& body, const Json& turns) {
  std::string text;
  for (const char* field : {"tools", "instructions", "system"})
    if (const auto it = body.find(field); it != body.end() && !it->is_null())
      text += turn(field, *field == 't' ? it->dump() : content_text(*it));
  if (turns.is_string()) {
    text += turn("user", turns.get<std::string>());
  } else if (turns.is_array() && !turns.empty()) {
    for (const Json& item : turns) text += turn_text(item);
  } else {
    return {};
  }
  return text + "<|assistant|>\n";
}

std::vector<std::string> plain_prompts(const Json& input) {
  if (input.is_string()) return {input.get<std::string>()};
  if (is_token_list(input)) return {token_text(input)};
  if (!input.is_array()) return {};
  std::vector<std::string> prompts;
  for (const Json& prompt : input) {
    if (prompt.is_string()) {
      prompts.push_back(prompt.get<std::string>());
    } else if (is_token_list(prompt)) {
      prompts.push_back(token_text(prompt));
    } else {
      return {};
    }
  }
  return prompts;
}

}  // namespace fareway::emulator
