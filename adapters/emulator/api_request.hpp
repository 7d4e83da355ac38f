#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "pricing/base/units.hpp"

namespace fareway::emulator {

/// The endpoints that put work on the engine.
enum class Api { kChat, kCompletions, kEmbeddings, kResponses, kMessages };

/// "/v1/chat/completions" and so on; nothing for any other path.
std::optional<Api> api_at(std::string_view path);

struct ApiRequest {
  Api api{};
  std::string model{};                 ///< empty: the client named none, and gets the one there is
  std::vector<std::string> prompts{};  ///< as one text each, roles included; exactly one but for embeddings
  std::optional<Tokens> output_limit{};
  bool stream{false};
  bool include_usage{false};
  std::size_t dimensions{64};  ///< embeddings
  bool base64{false};          ///< embeddings
};

/// What the client did wrong, in the words of vLLM.
struct ApiError {
  unsigned status{400};
  std::string type{"BadRequestError"};
  std::string message{};
  std::string param{};  ///< empty: null
};

/// Reads a body. Fields that no emulated answer depends on (temperature, ignore_eos …) are ignored, as vLLM
/// does. Several prompts or choices in one request are refused: the emulator gives one answer each.
boost::system::result<ApiRequest, ApiError> read_request(Api api, std::string_view body);

ApiError unknown_model(std::string_view model);
ApiError too_long(Tokens limit, Tokens prompt, std::optional<Tokens> output);

}  // namespace fareway::emulator
