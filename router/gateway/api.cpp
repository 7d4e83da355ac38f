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

std::string_view without_query(std::string_view target) {
  return target.substr(0, target.find_first_of("?#"));
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
  const std::string_view path = without_query(target);
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
  return without_query(target) == path_of(Api::kMessages) ? Dialect::kAnthropic : Dialect::kOpenAi;
}

}  // namespace fareway
