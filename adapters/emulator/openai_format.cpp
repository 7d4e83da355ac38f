// /v1/chat/completions and /v1/completions, field by field as vLLM writes them.

#include <utility>

#include <nlohmann/json.hpp>

#include "adapters/emulator/answer_format.hpp"

namespace fareway::emulator {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kDone = "data: [DONE]\n\n";

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt.value},
          {"total_tokens", (usage.prompt + usage.output).value},
          {"completion_tokens", usage.output.value},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached.value}}}};
}

const char* reason_name(FinishReason reason) {
  return reason == FinishReason::kStop ? "stop" : "length";
}

/// What both APIs share: the envelope, and how a stream ends.
class OpenAiFormat : public AnswerFormat {
 public:
  OpenAiFormat(AnswerHead head, const char* id_prefix, const char* chunk_object)
      : head_(std::move(head)), id_(id_prefix + head_.id), chunk_object_(chunk_object) {}

  std::vector<std::string> closing(std::string_view, const Usage& usage, FinishReason reason) override {
    std::vector<std::string> events{last_choice(reason)};
    if (head_.include_usage) {
      Json chunk = envelope(chunk_object_);
      chunk["choices"] = Json::array();
      chunk["usage"] = usage_json(usage);
      events.push_back(event(chunk.dump()));
    }
    events.emplace_back(kDone);
    return events;
  }

 protected:
  virtual std::string last_choice(FinishReason reason) = 0;

  Json envelope(const char* object) const {
    return {{"id", id_}, {"object", object}, {"created", head_.created}, {"model", head_.model}};
  }
  std::string chunk(Json choice) const {
    Json body = envelope(chunk_object_);
    body["choices"] = Json::array({std::move(choice)});
    return event(body.dump());
  }

 private:
  AnswerHead head_;
  std::string id_;
  const char* chunk_object_;
};

class ChatFormat final : public OpenAiFormat {
 public:
  explicit ChatFormat(AnswerHead head)
      : OpenAiFormat(std::move(head), "chatcmpl-", "chat.completion.chunk") {}

  std::vector<std::string> opening(const Usage&) override {
    return {delta({{"role", "assistant"}, {"content", ""}}, nullptr)};
  }
  std::string token(std::string_view text) override { return delta({{"content", text}}, nullptr); }

  std::string whole(std::string_view text, const Usage& usage, FinishReason reason) override {
    Json body = envelope("chat.completion");
    const Json message{
        {"role", "assistant"}, {"content", text}, {"refusal", nullptr}, {"tool_calls", Json::array()}};
    body["choices"] = Json::array({{{"index", 0},
                                    {"message", message},
                                    {"logprobs", nullptr},
                                    {"finish_reason", reason_name(reason)},
                                    {"stop_reason", nullptr}}});
    body["usage"] = usage_json(usage);
    return body.dump();
  }

 protected:
  std::string last_choice(FinishReason reason) override {
    return delta({{"content", ""}}, reason_name(reason));
  }

 private:
  std::string delta(Json delta, Json reason) const {
    return chunk({{"index", 0},
                  {"delta", std::move(delta)},
                  {"logprobs", nullptr},
                  {"finish_reason", std::move(reason)}});
  }
};

class CompletionsFormat final : public OpenAiFormat {
 public:
  explicit CompletionsFormat(AnswerHead head) : OpenAiFormat(std::move(head), "cmpl-", "text_completion") {}

  std::vector<std::string> opening(const Usage&) override { return {}; }
  std::string token(std::string_view text) override { return chunk(choice(text, nullptr)); }

  std::string whole(std::string_view text, const Usage& usage, FinishReason reason) override {
    Json body = envelope("text_completion");
    body["choices"] = Json::array({choice(text, reason_name(reason))});
    body["usage"] = usage_json(usage);
    return body.dump();
  }

 protected:
  std::string last_choice(FinishReason reason) override { return chunk(choice("", reason_name(reason))); }

 private:
  static Json choice(std::string_view text, Json reason) {
    return {{"index", 0},
            {"text", text},
            {"logprobs", nullptr},
            {"finish_reason", std::move(reason)},
            {"stop_reason", nullptr}};
  }
};

}  // namespace

std::unique_ptr<AnswerFormat> make_chat_format(AnswerHead head) {
  return std::make_unique<ChatFormat>(std::move(head));
}

std::unique_ptr<AnswerFormat> make_completions_format(AnswerHead head) {
  return std::make_unique<CompletionsFormat>(std::move(head));
}

}  // namespace fareway::emulator
