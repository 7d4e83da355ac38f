// /v1/responses: named, numbered events around one message with one text part; no [DONE].

#include <utility>

#include <nlohmann/json.hpp>

#include "adapters/emulator/answer_format.hpp"

namespace fareway::emulator {
namespace {

using Json = nlohmann::ordered_json;

class ResponsesFormat final : public AnswerFormat {
 public:
  explicit ResponsesFormat(AnswerHead head) : head_(std::move(head)) {}

  std::vector<std::string> opening(const Usage&) override {
    const Json in_progress = response("in_progress", Json::array(), nullptr);
    return {numbered("response.created", {{"response", in_progress}}),
            numbered("response.in_progress", {{"response", in_progress}}),
            numbered("response.output_item.added",
                     {{"output_index", 0}, {"item", message("in_progress", Json::array())}}),
            numbered("response.content_part.added", in_part({{"part", text_part("")}}))};
  }

  std::string token(std::string_view text) override {
    return numbered("response.output_text.delta", in_part({{"delta", text}, {"logprobs", Json::array()}}));
  }

  std::vector<std::string> closing(std::string_view text, const Usage& usage, FinishReason reason) override {
    const Json item = message("completed", Json::array({text_part(text)}));
    return {numbered("response.output_text.done", in_part({{"text", text}, {"logprobs", Json::array()}})),
            numbered("response.content_part.done", in_part({{"part", text_part(text)}})),
            numbered("response.output_item.done", {{"output_index", 0}, {"item", item}}),
            numbered("response.completed", {{"response", finished(text, usage, reason)}})};
  }

  std::string whole(std::string_view text, const Usage& usage, FinishReason reason) override {
    return finished(text, usage, reason).dump();
  }

 private:
  std::string numbered(const char* type, Json fields) {
    fields["sequence_number"] = sequence_number_++;
    fields["type"] = type;
    return event(fields.dump(), type);
  }

  Json in_part(Json fields) const {
    fields["item_id"] = "msg_" + head_.id;
    fields["output_index"] = 0;
    fields["content_index"] = 0;
    return fields;
  }

  static Json text_part(std::string_view text) {
    return {
        {"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
  }

  Json message(const char* status, Json content) const {
    return {{"id", "msg_" + head_.id},
            {"type", "message"},
            {"role", "assistant"},
            {"status", status},
            {"content", std::move(content)}};
  }

  Json response(const char* status, Json output, Json usage) const {
    return {{"id", "resp_" + head_.id},
            {"object", "response"},
            {"created_at", head_.created},
            {"model", head_.model},
            {"status", status},
            {"error", nullptr},
            {"incomplete_details", nullptr},
            {"output", std::move(output)},
            {"parallel_tool_calls", true},
            {"tool_choice", "auto"},
            {"tools", Json::array()},
            {"usage", std::move(usage)}};
  }

  /// Cut short by the limit, a response is "incomplete"; vLLM names the event response.completed all the
  /// same.
  Json finished(std::string_view text, const Usage& usage, FinishReason reason) const {
    const bool cut = reason == FinishReason::kLength;
    Json body = response(cut ? "incomplete" : "completed",
                         Json::array({message("completed", Json::array({text_part(text)}))}),
                         {{"input_tokens", usage.prompt.value},
                          {"input_tokens_details", {{"cached_tokens", usage.cached.value}}},
                          {"output_tokens", usage.output.value},
                          {"output_tokens_details", {{"reasoning_tokens", 0}}},
                          {"total_tokens", (usage.prompt + usage.output).value}});
    if (cut) body["incomplete_details"] = {{"reason", "max_output_tokens"}};
    return body;
  }

  AnswerHead head_;
  std::int64_t sequence_number_{0};
};

}  // namespace

std::unique_ptr<AnswerFormat> make_responses_format(AnswerHead head) {
  return std::make_unique<ResponsesFormat>(std::move(head));
}

}  // namespace fareway::emulator
