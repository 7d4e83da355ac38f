#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/emulator/api_request.hpp"
#include "pricing/base/units.hpp"

namespace fareway::emulator {

struct Usage {
  Tokens prompt;
  Tokens cached;  ///< of the prompt
  Tokens output;
};

enum class FinishReason { kStop, kLength };

/// What one answer carries everywhere.
struct AnswerHead {
  std::string id;  ///< without the API's prefix
  std::string model;
  std::int64_t created{};  ///< Unix seconds
  bool include_usage{false};
};

/// How one API words an answer: as one JSON object, or as server-sent events. One object for one answer; the
/// events are asked for in order, `opening` when the first token is there, as vLLM sends them.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;
  /// Each element is one event, complete with its blank line.
  virtual std::vector<std::string> opening(const Usage& usage) = 0;
  virtual std::string token(std::string_view text) = 0;
  virtual std::vector<std::string> closing(std::string_view text, const Usage& usage,
                                           FinishReason reason) = 0;
  virtual std::string whole(std::string_view text, const Usage& usage, FinishReason reason) = 0;
};

/// Any API but embeddings, which have no stream; see `embeddings_body`.
std::unique_ptr<AnswerFormat> make_format(Api api, AnswerHead head);

/// The answer to /v1/embeddings; one vector for each prompt.
std::string embeddings_body(const ApiRequest& request, const AnswerHead& head, const Usage& usage);

/// vLLM's error object; /v1/messages wraps it in Anthropic's.
std::string error_body(Api api, const ApiError& error);

/// An event, `name` left out where empty.
std::string event(std::string_view data, std::string_view name = {});

std::unique_ptr<AnswerFormat> make_chat_format(AnswerHead head);
std::unique_ptr<AnswerFormat> make_completions_format(AnswerHead head);
std::unique_ptr<AnswerFormat> make_responses_format(AnswerHead head);
std::unique_ptr<AnswerFormat> make_messages_format(AnswerHead head);

}  // namespace fareway::emulator
