#include "router/gateway/errors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace fareway {

namespace {

constexpr std::size_t kLongestEchoedName = 64;
constexpr double kLongestRetryAfter = 600;  // seconds

std::string_view said_of(TurnedAway why) {
  switch (why) {
    case TurnedAway::kFull:
      return "as many requests wait as may";
    case TurnedAway::kFullBytes:
      return "the requests that wait take as much memory as they may";
    case TurnedAway::kTooLate:
      return "those that wait already would make this one far too late";
    case TurnedAway::kDisplaced:
      return "this request had to make room in the queue for others";
    case TurnedAway::kAge:
      return "this request has waited for as long as it may";
  }
  return {};
}

nlohmann::json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

/// The names Anthropic's clients choose their exception by.
std::string_view anthropic_type(int status) {
  switch (status) {
    case 400:
    case 405:
    case 408:
    case 415:
      return "invalid_request_error";
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return "api_error";
  }
}

std::string dump(const nlohmann::json& value) {
  // A name cut in the middle of a character must not make the answer invalid UTF-8.
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Refusal engine_failure(int status, std::string_view code, std::string message) {
  return {.status = status,
          .type = "api_error",
          .code = code,
          .param = {},
          .message = std::move(message),
          .reason = "engine"};
}

}  // namespace

std::string error_body(const Refusal& refusal, Dialect dialect) {
  if (dialect == Dialect::kAnthropic) {
    return dump({{"type", "error"},
                 {"error", {{"type", anthropic_type(refusal.status)}, {"message", refusal.message}}}});
  }
  return dump({{"error",
                {{"message", refusal.message},
                 {"type", refusal.type},
                 {"param", text_or_null(refusal.param)},
                 {"code", text_or_null(refusal.code)}}}});
}

std::string error_event(const Refusal& refusal, Dialect dialect) {
  const std::string_view name = dialect == Dialect::kAnthropic ? "event: error\n" : "";
  return std::string(name) + "data: " + error_body(refusal, dialect) + "\n\n";
}

namespace refusals {

Refusal bad_request(std::string message, std::string_view param) {
  return {.status = 400,
          .type = "invalid_request_error",
          .code = {},
          .param = param,
          .message = std::move(message),
          .reason = "bad_request"};
}

Refusal bad_http(int status, std::string message) {
  return {.status = status,
          .type = "invalid_request_error",
          .code = {},
          .param = {},
          .message = std::move(message),
          .reason = "bad_http"};
}

Refusal unknown_class(const std::vector<ServiceClass>& classes) {
  std::string known;
  for (const ServiceClass& one : classes) known += (known.empty() ? "" : ", ") + one.name;
  return bad_request("The header x-fareway-class names no class of this router. Classes: " + known + ".",
                     "x-fareway-class");
}

Refusal class_not_permitted(std::string_view name) {
  return {.status = 403,
          .type = "permission_error",
          .code = "class_not_permitted",
          .param = "x-fareway-class",
          .message = "This key may not ask for the class '" + std::string(name) + "'.",
          .reason = "not_permitted"};
}

Refusal unauthorized() {
  return {.status = 401,
          .type = "authentication_error",
          .code = "invalid_api_key",
          .param = {},
          .message = "The API key is missing or not known here. Send it as 'Authorization: Bearer KEY'.",
          .reason = "unauthorized"};
}

Refusal unknown_path() {
  return {.status = 404,
          .type = "invalid_request_error",
          .code = "unknown_url",
          .param = {},
          .message =
              "There is nothing at this path. Paths served: /v1/chat/completions, /v1/completions, "
              "/v1/embeddings, /v1/responses, /v1/messages, /v1/models.",
          .reason = "unknown_path"};
}

Refusal wrong_method(std::string_view allow) {
  return {.status = 405,
          .type = "invalid_request_error",
          .code = "method_not_allowed",
          .param = {},
          .message = "This path does not take this method; it takes " + std::string(allow) + ".",
          .reason = "wrong_method",
          .retry_after = {},
          .allow = allow};
}

Refusal too_large(std::size_t limit_bytes) {
  return {.status = 413,
          .type = "invalid_request_error",
          .code = "request_too_large",
          .param = {},
          .message = "The request body is larger than this router's limit of " + std::to_string(limit_bytes) +
                     " bytes.",
          .reason = "too_large"};
}

Refusal unsupported_encoding() {
  return {.status = 415,
          .type = "invalid_request_error",
          .code = "unsupported_content_encoding",
          .param = {},
          .message = "Compressed request bodies are not taken; send the body without Content-Encoding.",
          .reason = "bad_request"};
}

Refusal model_not_found(std::string_view model) {
  const bool cut = model.size() > kLongestEchoedName;
  return {.status = 404,
          .type = "invalid_request_error",
          .code = "model_not_found",
          .param = "model",
          .message = "The model '" + std::string(model.substr(0, kLongestEchoedName)) + (cut ? "..." : "") +
                     "' does not exist or you do not have access to it.",
          .reason = "model_not_found"};
}

Refusal context_too_long() {
  return {.status = 400,
          .type = "invalid_request_error",
          .code = "context_length_exceeded",
          .param = "messages",
          .message =
              "The prompt and the requested output are longer than the context of every replica that "
              "serves this model. Shorten the prompt or lower the output limit.",
          .reason = "context"};
}

Refusal no_replica() {
  return {.status = 503,
          .type = "api_error",
          .code = "no_replica_available",
          .param = {},
          .message = "No replica of this model can take the request right now. Try again shortly.",
          .reason = "no_replica",
          .retry_after = 1};
}

Refusal busy(TurnedAway why, std::optional<Seconds> drain) {
  // Longer says no more than "much later"; less than a second cannot be said.
  const double seconds = std::clamp(std::ceil(drain.value_or(Seconds{1}).count()), 1.0, kLongestRetryAfter);
  return {.status = 429,
          .type = "rate_limit_error",
          .code = to_string(why),
          .param = {},
          .message = "Every replica of this model is busy, and " + std::string(said_of(why)) +
                     ". Try again in " + std::to_string(static_cast<int>(seconds)) + " s.",
          .reason = to_string(why),
          .retry_after = static_cast<int>(seconds)};
}

Refusal not_permitted() {
  return {
      .status = 403,
      .type = "permission_error",
      .code = "no_permitted_replica",
      .param = {},
      .message = "This model runs only where your tenant's rules (region, price ceiling) do not allow it.",
      .reason = "not_permitted"};
}

Refusal ledger_unavailable() {
  return {.status = 503,
          .type = "api_error",
          .code = "ledger_unavailable",
          .param = {},
          .message = "Requests cannot be accounted for right now, so none is taken. Try again shortly.",
          .reason = "ledger",
          .retry_after = 5};
}

Refusal shutting_down() {
  return {.status = 503,
          .type = "api_error",
          .code = "shutting_down",
          .param = {},
          .message = "The router is shutting down. Try again.",
          .reason = "shutting_down",
          .retry_after = 1};
}

Refusal request_timeout() {
  return {.status = 408,
          .type = "invalid_request_error",
          .code = "request_timeout",
          .param = {},
          .message = "The request did not arrive in time.",
          .reason = "request_timeout"};
}

Refusal engine_unreachable() {
  return engine_failure(502, "engine_unreachable", "The inference server could not be reached.");
}

Refusal engine_broke_off() {
  return engine_failure(502, "engine_broke_off", "The inference server broke the answer off.");
}

Refusal engine_rejected_router() {
  return engine_failure(502, "engine_rejected_router",
                        "The inference server did not accept this router's own credentials.");
}

Refusal engine_odd_answer() {
  return engine_failure(502, "engine_odd_answer", "The inference server's answer could not be understood.");
}

Refusal engine_error(int status) {
  return engine_failure(status, "engine_error",
                        "The inference server answered with status " + std::to_string(status) + ".");
}

Refusal first_byte_timeout() {
  return engine_failure(504, "first_byte_timeout",
                        "The inference server did not begin its answer within the first-byte limit.");
}

Refusal idle_timeout() {
  return engine_failure(504, "idle_timeout", "The inference server went silent in the middle of its answer.");
}

}  // namespace refusals

}  // namespace fareway
