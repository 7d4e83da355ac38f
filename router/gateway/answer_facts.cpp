#include "router/gateway/answer_facts.hpp"

#include <algorithm>
#include <limits>

namespace fareway {

namespace {

namespace od = simdjson::ondemand;

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::size_t kMostChoices = 4096;
constexpr std::size_t kKeepUpTo = 64u << 10;

/// A count that has passed a gate; nothing for null, negative, fractional or absurd.
std::optional<std::int64_t> count(od::value value) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS || number < 0 || number > kMostTokens)
    return std::nullopt;
  return number;
}

bool is_null(od::value& value) {
  return value.type() == od::json_type::null;
}

std::string_view text(od::value value) {
  std::string_view string;
  return value.type() == od::json_type::string && value.get_string().get(string) == simdjson::SUCCESS
             ? string
             : std::string_view{};
}

/// A member that holds generated content where it is neither null nor empty.
bool is_content(std::string_view key, od::value& value) {
  if (key == "content" || key == "reasoning_content" || key == "reasoning" || key == "refusal" ||
      key == "text") {
    return !text(value).empty();
  }
  return (key == "tool_calls" || key == "function_call" || key == "audio") && !is_null(value);
}

/// OpenAI counts cached tokens within the prompt, Anthropic beside it.
class UsageReader {
 public:
  std::optional<TokenUsage> read(od::object object) {
    for (od::field field : object) {
      const std::string_view key = field.unescaped_key();
      od::value value = field.value();
      if (key == "prompt_tokens_details" || key == "input_tokens_details") {
        details(value);
      } else if (const auto number = is_null(value) ? std::nullopt : maybe_count(value)) {
        member(key, *number);
      }
    }
    return result();
  }

 private:
  static std::optional<std::int64_t> maybe_count(od::value& value) {
    return value.type() == od::json_type::number ? count(value) : std::nullopt;
  }
  void member(std::string_view key, std::int64_t number) {
    if (key == "prompt_tokens" || key == "input_tokens") prompt_ = number;
    if (key == "completion_tokens" || key == "output_tokens") completion_ = number;
    if (key == "cache_read_input_tokens") cache_read_ = number;
    if (key == "cache_creation_input_tokens") cache_written_ = number;
  }
  void details(od::value& value) {
    if (value.type() != od::json_type::object) return;
    for (od::field field : value.get_object()) {
      const bool cached = field.unescaped_key() == std::string_view("cached_tokens");
      od::value number = field.value();
      if (cached) cached_ = maybe_count(number).value_or(0);
    }
  }
  std::optional<TokenUsage> result() const {
    if (!prompt_ && !completion_) return std::nullopt;
    return TokenUsage{.prompt = Tokens{prompt_.value_or(0) + cache_read_ + cache_written_},
                      .cached = Tokens{cached_ + cache_read_},
                      .completion = Tokens{completion_.value_or(0)}};
  }

  std::optional<std::int64_t> prompt_;
  std::optional<std::int64_t> completion_;
  std::int64_t cached_{0};
  std::int64_t cache_read_{0};
  std::int64_t cache_written_{0};
};

void take_usage(AnswerFacts& facts, const TokenUsage& usage) {
  if (usage.prompt.value == 0 && usage.completion.value == 0) return;
  if (!facts.usage) {
    facts.usage = usage;
    return;
  }
  // Anthropic's last report may leave the prompt out, which its first one told.
  if (usage.prompt.value > 0) {
    facts.usage->prompt = usage.prompt;
    facts.usage->cached = usage.cached;
  }
  facts.usage->completion = usage.completion;
}

void see_choice(AnswerFacts& facts, std::uint32_t index, bool finished) {
  auto& open = facts.open_choices;
  auto& done = facts.finished_choices;
  if (finished) std::erase(open, index);
  auto& list = finished ? done : open;
  const bool known = std::find(done.begin(), done.end(), index) != done.end() ||
                     std::find(list.begin(), list.end(), index) != list.end();
  if (!known && list.size() < kMostChoices) list.push_back(index);
}

}  // namespace

bool AnswerFacts::complete() const {
  return !error && !aborted && open_choices.empty() && !finished_choices.empty();
}

/// The members of one JSON object that matter, gathered in whatever order they come.
class AnswerReading::Members {
 public:
  explicit Members(AnswerFacts& facts) : facts_(facts) {}

  void read(od::object object) {
    for (od::field field : object) {
      const std::string_view key = field.unescaped_key();
      member(key, field.value());
    }
  }

  AnswerPart part() {
    if (type_ == "error" || type_ == "response.failed") facts_.error = error_ = true;
    if (type_ == "message_stop" || type_ == "response.completed" || type_ == "response.incomplete" ||
        type_ == "response.failed") {
      facts_.terminal = true;
      if (type_ == "response.completed" || type_ == "response.incomplete") see_choice(facts_, 0, true);
      return AnswerPart::kTerminal;
    }
    if (error_) return AnswerPart::kError;
    if (content_ || type_ == "content_block_delta" ||
        (type_.starts_with("response.") && type_.ends_with(".delta"))) {
      ++facts_.deltas;
      return AnswerPart::kContent;
    }
    return empty_choices_ && usage_ ? AnswerPart::kUsageOnly : AnswerPart::kOther;
  }

 private:
  void member(std::string_view key, od::value value) {
    if (key == "choices") return choices(value);
    if (key == "usage") return usage(value);
    if (key == "error") return error(value);
    if (key == "type") {
      type_ = text(value);
    } else if (key == "stop_reason") {
      finish(0, value);
    } else if (key == "status") {
      status(value);
    } else if ((key == "message" || key == "response" || key == "delta") &&
               value.type() == od::json_type::object) {
      nested(key, value);
    }
  }

  /// `message` and `response` wrap a whole answer, `delta` an Anthropic stop reason.
  void nested(std::string_view outer, od::value& value) {
    for (od::field field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      od::value inner = field.value();
      if (key == "usage") usage(inner);
      if (key == "stop_reason") finish(0, inner);
      if (outer == "response" && key == "error") error(inner);
    }
  }

  void choices(od::value& value) {
    if (value.type() != od::json_type::array) return;
    empty_choices_ = true;
    std::uint32_t position = 0;
    for (auto element : value.get_array()) {
      empty_choices_ = false;
      od::value choice_value = element.value();
      if (choice_value.type() == od::json_type::object) choice(choice_value.get_object(), position);
      ++position;
    }
  }

  void choice(od::object object, std::uint32_t position) {
    std::uint32_t index = position;
    bool finished = false;
    for (od::field field : object) {
      const std::string_view key = field.unescaped_key();
      od::value value = field.value();
      if (key == "index" && value.type() == od::json_type::number) {
        const auto number = count(value);
        if (number && *number <= std::numeric_limits<std::int32_t>::max())
          index = static_cast<std::uint32_t>(*number);
      } else if (key == "finish_reason") {
        finished = is_finish(value);
      } else if ((key == "delta" || key == "message") && value.type() == od::json_type::object) {
        for (od::field part : value.get_object()) {
          const std::string_view name = part.unescaped_key();
          od::value held = part.value();
          content_ = is_content(name, held) || content_;
        }
      } else if (key == "text") {
        content_ = is_content(key, value) || content_;
      }
    }
    see_choice(facts_, index, finished);
  }

  bool is_finish(od::value& value) {
    if (value.type() != od::json_type::string) return false;
    const std::string_view reason = text(value);
    if (reason == "abort" || reason == "error") facts_.aborted = true;
    return !reason.empty();
  }
  void finish(std::uint32_t index, od::value& value) {
    if (is_finish(value)) see_choice(facts_, index, true);
  }

  /// Of a whole Responses answer. "incomplete" means that a token limit ended it, as "length" does elsewhere.
  void status(od::value& value) {
    const std::string_view status = text(value);
    if (status == "completed" || status == "incomplete") see_choice(facts_, 0, true);
    if (status == "failed" || status == "cancelled") facts_.error = true;
  }

  void usage(od::value& value) {
    if (value.type() != od::json_type::object) return;
    usage_ = true;
    if (const auto read = UsageReader().read(value.get_object())) take_usage(facts_, *read);
  }

  void error(od::value& value) {
    if (is_null(value)) return;
    facts_.error = error_ = true;
    if (value.type() != od::json_type::object) return;
    for (od::field field : value.get_object()) {
      const std::string_view key = field.unescaped_key();
      od::value inner = field.value();
      if ((key == "code" || key == "http_status_code") && inner.type() == od::json_type::number) {
        if (const auto code = count(inner); code && *code < 1000)
          facts_.error_status = static_cast<int>(*code);
      }
    }
  }

  AnswerFacts& facts_;
  std::string_view type_;
  bool content_{false};
  bool empty_choices_{false};
  bool usage_{false};
  bool error_{false};
};

bool AnswerReading::parse(std::string_view json, Members& members) {
  if (padded_.capacity() > kKeepUpTo && json.size() < kKeepUpTo / 2) {
    std::string().swap(padded_);
    parser_ = simdjson::ondemand::parser();
  }
  padded_.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  padded_.assign(json);
  try {
    od::document document = parser_.iterate(padded_.data(), padded_.size(), padded_.capacity());
    members.read(document.get_object());
    return true;
  } catch (const simdjson::simdjson_error&) {
    return false;  // relayed all the same: what an engine writes is the client's to judge
  }
}

AnswerPart AnswerReading::event(std::string_view data, AnswerFacts& facts) {
  if (data == "[DONE]") {
    facts.terminal = true;
    return AnswerPart::kTerminal;
  }
  Members members(facts);
  return parse(data, members) ? members.part() : AnswerPart::kOther;
}

bool AnswerReading::answer(std::string_view json, AnswerFacts& facts) {
  Members members(facts);
  return parse(json, members);
}

void AnswerReading::tail(std::string_view bytes, AnswerFacts& facts) {
  const std::size_t key = bytes.rfind("\"usage\"");
  if (key == std::string_view::npos) return;
  // The object that follows, wrapped again; what comes behind it is cut off by the last brace that makes it
  // whole.
  const std::string_view from = bytes.substr(key);
  int depth = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == '{') ++depth;
    if (from[i] == '}' && --depth == 0) {
      Members members(facts);
      parse("{" + std::string(from.substr(0, i + 1)) + "}", members);
      return;
    }
    if (from[i] == '}' && depth < 0) return;
  }
}

}  // namespace fareway
