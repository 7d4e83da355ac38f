#include "router/gateway/api.hpp"

#include <array>
#include <utility>

namespace fareway {

namespace {

constexpr std::array<std::pair<std::string_view, Api>, 5> kApis{{{"/v1/chat/completions", Api::kChat},
                                                                 {"/v1/completions", Api::kCompletions},
                                                                 {"/v1/embeddings", Api::kEmbeddings},
                                                                 {"/v1/responses", Api::kResponses},
                                                                 {"/v1/messages", Api::kMessages}}};
constexpr std::string_view kModels = "/v1/models";

/// Base paths under which other gateways offer the same API, so that clients need another host only.
constexpr std::array<std::string_view, 2> kBasePaths{"/openai", "/anthropic"};

/// Without its query and base path.
std::string_view api_path(std::string_view target) {
  std::string_view path = target.substr(0, target.find_first_of("?#"));
  for (const std::string_view base : kBasePaths) {
    if (path.starts_with(base) && path.substr(base.size()).starts_with("/v1/"))
      return path.substr(base.size());
  }
  return path;
}

}  // namespace

std::string_view path_of(Api api) {
  for (const auto& [path, known] : kApis) {
    if (known == api) return path;
  }
  return {};
}

Dialect dialect_of(Api api) {
  return api == Api::kMessages ? Dialect::kAnthropic : Dialect::kOpenAi;
}

Route find_route(std::string_view method, std::string_view target) {
  const std::string_view path = api_path(target);
  for (const auto& [known, api] : kApis) {
    if (path != known) continue;
    if (method != "POST") return refusals::wrong_method("POST");
    return api;
  }
  const bool models = path == kModels || (path.starts_with(kModels) && path[kModels.size()] == '/');
  if (!models) return refusals::unknown_path();
  if (method != "GET" && method != "HEAD") return refusals::wrong_method("GET, HEAD");
  if (path == kModels) return ModelsQuery{};
  return ModelsQuery{std::string(path.substr(kModels.size() + 1))};
}

Dialect dialect_of_target(std::string_view target) {
  return api_path(target) == path_of(Api::kMessages) ? Dialect::kAnthropic : Dialect::kOpenAi;
}

}  // namespace fareway
