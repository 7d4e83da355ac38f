#include "adapters/emulator/api_request.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/emulator/prompt_text.hpp"

namespace fareway::emulator {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<std::string_view, Api>, 5> kPaths{{{"/v1/chat/completions", Api::kChat},
                                                                  {"/v1/completions", Api::kCompletions},
                                                                  {"/v1/embeddings", Api::kEmbeddings},
                                                                  {"/v1/responses", Api::kResponses},
                                                                  {"/v1/messages", Api::kMessages}}};
constexpr std::uint64_t kMostDimensions = 8192;
constexpr std::int64_t kDeepest = 256;  // what writes JSON recurses; a client must not choose how far
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 40U;  // so that sums stay far from overflow

ApiError bad_field(std::string_view field, std::string_view what) {
  return {.message = fmt::format("{}: {}", field, what), .param = std::string(field)};
}

/// The field, or nothing where it is absent or null.
const Json* find(const Json& object, const char* field) {
  const auto it = object.find(field);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

/// A positive whole number, at most `most`: larger ones are read as `most`.
boost::system::result<std::optional<std::uint64_t>, ApiError> read_count(const Json& body, const char* field,
                                                                         std::uint64_t most) {
  const Json* value = find(body, field);
  if (value == nullptr) return std::optional<std::uint64_t>{};
  if (!value->is_number_unsigned() || value->get<std::uint64_t>() == 0)
    return bad_field(field, "must be a whole number of at least 1");
  return std::optional(std::min(value->get<std::uint64_t>(), most));
}

std::optional<ApiError> read_flag(const Json& object, const char* field, bool& into) {
  const Json* value = find(object, field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) return bad_field(field, "must be true or false");
  into = value->get<bool>();
  return std::nullopt;
}

bool nested_too_deeply(std::string_view json) {
  std::int64_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      if (++depth > kDeepest) return true;
    } else if (!in_string && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

/// Names of the output limit, the one that counts first.
std::vector<const char*> limit_fields(Api api) {
  switch (api) {
    case Api::kChat:
      return {"max_completion_tokens", "max_tokens"};
    case Api::kResponses:
      return {"max_output_tokens"};
    case Api::kCompletions:
    case Api::kMessages:
      return {"max_tokens"};
    case Api::kEmbeddings:
      break;
  }
  return {};
}

std::optional<ApiError> read_limit(const Json& body, ApiRequest& request) {
  for (const char* field : limit_fields(request.api)) {
    const auto limit = read_count(body, field, kMostTokens);
    if (!limit) return limit.error();
    if (!request.output_limit && *limit) request.output_limit = Tokens{static_cast<std::int64_t>(**limit)};
  }
  if (request.api == Api::kMessages && !request.output_limit)
    return bad_field("max_tokens", "field required");
  return std::nullopt;
}

std::optional<ApiError> read_options(const Json& body, ApiRequest& request) {
  if (const Json* model = find(body, "model")) {
    if (!model->is_string()) return bad_field("model", "must be a string");
    request.model = model->get<std::string>();
  }
  if (auto error = read_flag(body, "stream", request.stream)) return error;
  if (request.api == Api::kEmbeddings) request.stream = false;
  if (const Json* options = find(body, "stream_options")) {
    if (!options->is_object()) return bad_field("stream_options", "must be an object");
    if (auto error = read_flag(*options, "include_usage", request.include_usage)) return error;
  }
  const auto choices = read_count(body, "n", kMostTokens);
  if (!choices) return choices.error();
  if (choices->value_or(1) != 1) return bad_field("n", "the emulator gives one choice only");
  return read_limit(body, request);
}

std::optional<ApiError> read_embedding_options(const Json& body, ApiRequest& request) {
  const auto dimensions = read_count(body, "dimensions", kMostDimensions);
  if (!dimensions) return dimensions.error();
  if (*dimensions) request.dimensions = static_cast<std::size_t>(**dimensions);
  const Json* format = find(body, "encoding_format");
  if (format == nullptr) return std::nullopt;
  if (*format != "float" && *format != "base64")
    return bad_field("encoding_format", "must be float or base64");
  request.base64 = *format == "base64";
  return std::nullopt;
}

/// The field that holds the prompt, and its text.
std::optional<ApiError> read_prompts(const Json& body, ApiRequest& request) {
  const bool completions = request.api == Api::kCompletions;
  const bool listed = completions || request.api == Api::kEmbeddings;
  const bool chat = request.api == Api::kChat || request.api == Api::kMessages;
  const char* field = chat ? "messages" : (completions ? "prompt" : "input");
  const Json* input = find(body, field);
  if (input == nullptr) return bad_field(field, "field required");
  auto prompts = listed ? plain_prompts(*input) : std::vector{conversation(body, *input)};
  const bool empty = prompts.empty() || std::ranges::any_of(prompts, &std::string::empty);
  if (empty || (chat && !input->is_array())) return bad_field(field, "not a prompt the server can read");
  if (completions && prompts.size() != 1) return bad_field(field, "the emulator takes one prompt only");
  request.prompts = std::move(prompts);
  return std::nullopt;
}

}  // namespace

std::optional<Api> api_at(std::string_view path) {
  const auto it = std::ranges::find(kPaths, path, &std::pair<std::string_view, Api>::first);
  return it == kPaths.end() ? std::nullopt : std::optional(it->second);
}

boost::system::result<ApiRequest, ApiError> read_request(Api api, std::string_view body) {
  if (nested_too_deeply(body))
    return ApiError{.type = "Bad Request", .message = "Invalid JSON: it is nested too deeply"};
  // Without exceptions; the parser's own message would quote the prompt.
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return ApiError{.type = "Bad Request", .message = "Invalid JSON: the body is not valid JSON in UTF-8"};
  if (!json.is_object())
    return ApiError{.type = "Bad Request", .message = "Input should be a valid dictionary"};

  ApiRequest request{.api = api};
  if (auto error = read_options(json, request)) return *error;
  if (api == Api::kEmbeddings)
    if (auto error = read_embedding_options(json, request)) return *error;
  if (auto error = read_prompts(json, request)) return *error;
  return request;
}

ApiError unknown_model(std::string_view model) {
  return {.status = 404,
          .type = "NotFoundError",
          .message = fmt::format("The model `{}` does not exist.", model),
          .param = "model"};
}

ApiError too_long(Tokens limit, Tokens prompt, std::optional<Tokens> output) {
  std::string message =
      fmt::format("This model's maximum context length is {} tokens. However, ", limit.value);
  message += output ? fmt::format(
                          "you requested {} output tokens and your prompt contains {} input tokens, for a "
                          "total of {} tokens.",
                          output->value, prompt.value, (prompt + *output).value)
                    : fmt::format("your prompt contains {} input tokens.", prompt.value);
  message += fmt::format(
      " Please reduce the length of the input prompt or the number of requested output tokens. "
      "(parameter=input_tokens, value={})",
      prompt.value);
  return {.message = std::move(message), .param = "input_tokens"};
}

}  // namespace fareway::emulator
