#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "adapters/emulator/answer_format.hpp"
#include "adapters/emulator/api_request.hpp"
#include "adapters/emulator/batch.hpp"

namespace fareway::emulator {

/// What one request puts on the engine, decided before any of it runs.
struct Work {
  ApiRequest request;
  std::vector<Sequence> sequences;  ///< one for each prompt
  std::uint64_t seed{};             ///< of the answer's words
  FinishReason reason{};            ///< how the answer will end

  Tokens prompt_tokens() const;
};

/// Reads the body, and decides how long the answer will be: as long as the client's limit says, else a length
/// made up from the prompt, in either case within the context. A pure function.
boost::system::result<Work, ApiError> plan_work(Api api, std::string_view body, std::string_view served_model,
                                                Tokens context_limit);

}  // namespace fareway::emulator
