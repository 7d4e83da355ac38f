#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "pricing/list_prices.hpp"

namespace fareway {

/// What one event or one whole answer is to the router.
enum class AnswerPart {
  kOther,      ///< role, comments, pings, anything not understood
  kContent,    ///< generated text or a piece of a tool call: about one token
  kUsageOnly,  ///< OpenAI's usage chunk: `choices` is empty
  kTerminal,   ///< the last event of a stream
  kError,
};

/// What was learned from an answer so far. Usage is the engine's last word; a report of zeros (after an
/// error, or from engines that fill it in late) is no report.
struct AnswerFacts {
  std::optional<TokenUsage> usage;
  std::int64_t deltas{0};  ///< content events, about one token each
  bool error{false};
  std::optional<int> error_status;  ///< where the engine's error names one
  bool aborted{false};              ///< a finish reason of "abort" or "error"
  bool terminal{false};
  std::vector<std::uint32_t> open_choices;  ///< seen and not finished
  std::vector<std::uint32_t> finished_choices;

  /// Every choice seen has finished, at least one has, and no error was reported. "[DONE]" alone is no
  /// success.
  bool complete() const;
};

/// Reads events and whole answers of all five APIs; members are told apart by name, so their order does not
/// matter. Holds the JSON parser and a padded copy of what it parses; shared by all answers of one thread.
class AnswerReading {
 public:
  /// `data` is the text after "data:"; not JSON and not "[DONE]" is kOther.
  AnswerPart event(std::string_view data, AnswerFacts& facts);
  /// A whole JSON answer.
  /// False where it is not JSON.
  bool answer(std::string_view json, AnswerFacts& facts);
  /// The last bytes of an answer too large to keep: only usage is looked for.
  void tail(std::string_view bytes, AnswerFacts& facts);

 private:
  class Members;
  bool parse(std::string_view json, Members& members);

  simdjson::ondemand::parser parser_;
  std::string padded_;
};

}  // namespace fareway
