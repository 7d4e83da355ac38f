#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "router/gateway/errors.hpp"

namespace fareway {

/// The generation endpoints, by what their bodies and answers look like.
enum class Api { kChat, kCompletions, kEmbeddings, kResponses, kMessages };

std::string_view path_of(Api api);
Dialect dialect_of(Api api);

/// The catalogue of models, or one of them.
struct ModelsQuery {
  std::string id;  ///< empty: all
};

using Route = std::variant<Api, ModelsQuery, Refusal>;

/// What a request line asks for. A query string plays no part; the path must match as it is, without
/// decoding, but may stand behind /openai or /anthropic.
Route find_route(std::string_view method, std::string_view target);
/// Error shape for a path, known or not.
Dialect dialect_of_target(std::string_view target);

}  // namespace fareway
