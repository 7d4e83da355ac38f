#include "adapters/emulator/answer_format.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/emulator/text.hpp"

namespace fareway::emulator {
namespace {

using Json = nlohmann::ordered_json;

Json embedding_value(const std::vector<float>& vector, bool as_base64) {
  if (!as_base64) return vector;
  // The API's byte order is little-endian, as is every machine this runs on.
  return base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
}

}  // namespace

std::unique_ptr<AnswerFormat> make_format(Api api, AnswerHead head) {
  switch (api) {
    case Api::kChat:
      return make_chat_format(std::move(head));
    case Api::kCompletions:
      return make_completions_format(std::move(head));
    case Api::kResponses:
      return make_responses_format(std::move(head));
    case Api::kMessages:
      return make_messages_format(std::move(head));
    case Api::kEmbeddings:
      break;
  }
  throw std::logic_error("embeddings have no answer format");
}

std::string embeddings_body(const ApiRequest& request, const AnswerHead& head, const Usage& usage) {
  Json data = Json::array();
  for (std::size_t i = 0; i < request.prompts.size(); ++i) {
    const std::vector<float> vector = embedding(request.prompts[i], request.dimensions);
    data.push_back(
        {{"index", i}, {"object", "embedding"}, {"embedding", embedding_value(vector, request.base64)}});
  }
  const Json body{{"id", "embd-" + head.id},
                  {"object", "list"},
                  {"created", head.created},
                  {"model", head.model},
                  {"data", std::move(data)},
                  {"usage",
                   {{"prompt_tokens", usage.prompt.value},
                    {"total_tokens", usage.prompt.value},
                    {"completion_tokens", 0},
                    {"prompt_tokens_details", nullptr}}}};
  return body.dump();
}

std::string error_body(Api api, const ApiError& error) {
  if (api == Api::kMessages)
    return Json{{"type", "error"}, {"error", {{"type", error.type}, {"message", error.message}}}}.dump();
  const Json param = error.param.empty() ? Json{} : Json(error.param);
  const Json detail{
      {"message", error.message}, {"type", error.type}, {"param", param}, {"code", error.status}};
  return Json{{"error", detail}}.dump();
}

std::string event(std::string_view data, std::string_view name) {
  return name.empty() ? fmt::format("data: {}\n\n", data)
                      : fmt::format("event: {}\ndata: {}\n\n", name, data);
}

}  // namespace fareway::emulator
