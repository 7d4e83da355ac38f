// /v1/messages as vLLM serves it: Anthropic's events; input_tokens counts the whole prompt, cached or not.

#include <utility>

#include <nlohmann/json.hpp>

#include "adapters/emulator/answer_format.hpp"

namespace fareway::emulator {
namespace {

using Json = nlohmann::ordered_json;

const char* reason_name(FinishReason reason) {
  return reason == FinishReason::kStop ? "end_turn" : "max_tokens";
}

Json usage_json(Tokens prompt, Tokens output) {
  return {{"input_tokens", prompt.value}, {"output_tokens", output.value}};
}

std::string typed(const char* type, Json fields) {
  Json body{{"type", type}};
  body.update(fields);
  return event(body.dump(), type);
}

class MessagesFormat final : public AnswerFormat {
 public:
  explicit MessagesFormat(AnswerHead head) : head_(std::move(head)) {}

  std::vector<std::string> opening(const Usage& usage) override {
    const Json message = this->message(Json::array(), nullptr, usage_json(usage.prompt, {}));
    return {
        typed("message_start", {{"message", message}}),
        typed("content_block_start", {{"index", 0}, {"content_block", {{"type", "text"}, {"text", ""}}}})};
  }

  std::string token(std::string_view text) override {
    return typed("content_block_delta", {{"index", 0}, {"delta", {{"type", "text_delta"}, {"text", text}}}});
  }

  std::vector<std::string> closing(std::string_view, const Usage& usage, FinishReason reason) override {
    return {
        typed("content_block_stop", {{"index", 0}}),
        typed("message_delta", {{"delta", {{"stop_reason", reason_name(reason)}, {"stop_sequence", nullptr}}},
                                {"usage", usage_json(usage.prompt, usage.output)}}),
        typed("message_stop", Json::object())};
  }

  std::string whole(std::string_view text, const Usage& usage, FinishReason reason) override {
    return message(Json::array({{{"type", "text"}, {"text", text}}}), reason_name(reason),
                   usage_json(usage.prompt, usage.output))
        .dump();
  }

 private:
  Json message(Json content, Json stop_reason, Json usage) const {
    return {{"id", "msg_" + head_.id},  {"type", "message"},
            {"role", "assistant"},      {"content", std::move(content)},
            {"model", head_.model},     {"stop_reason", std::move(stop_reason)},
            {"stop_sequence", nullptr}, {"usage", std::move(usage)}};
  }

  AnswerHead head_;
};

}  // namespace

std::unique_ptr<AnswerFormat> make_messages_format(AnswerHead head) {
  return std::make_unique<MessagesFormat>(std::move(head));
}

}  // namespace fareway::emulator
