#include "bench/payload.hpp"

#include <array>
#include <charconv>
#include <random>

#include "bench/form.hpp"

namespace fareway::bench {
namespace {

constexpr std::string_view kMark = "[bench ";
constexpr std::string_view kUsage =
    R"("usage":{"prompt_tokens":500,"completion_tokens":100,"total_tokens":600})";

std::string boolean(bool value) {
  return value ? "true" : "false";
}

/// How every object of an answer begins.
std::string opening(std::string_view lead, std::string_view object) {
  std::string text{lead};
  text += R"({"id":"chatcmpl-)";
  text += Form::kNumberBlank;
  text += R"(","object":")";
  text += object;
  return text += R"(","created":1700000000,"model":"bench",)";
}

std::string chunk_opening() {
  return opening("data: ", "chat.completion.chunk");
}

/// What follows `key` and a colon, without spaces before it; empty where the key is absent.
std::string_view value_of(std::string_view body, std::string_view key) {
  const std::size_t at = body.find(key);
  if (at == std::string_view::npos) return {};
  const std::size_t value = body.find_first_not_of(" :", at + key.size());
  return value == std::string_view::npos ? std::string_view{} : body.substr(value);
}

/// The whole number `text` begins with; 0 where it begins with none.
std::uint64_t leading_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string request_body(const Ask& ask, std::size_t bytes) {
  std::string body = R"({"model":"bench","stream":)" + boolean(ask.stream);
  if (ask.usage) body += R"(,"stream_options":{"include_usage":true})";
  body += R"(,"max_tokens":)" + std::to_string(ask.events);
  body += R"(,"temperature":0.7,"messages":[{"role":"system","content":"Answer in short sentences."},)";
  body += R"({"role":"user","content":")" + std::string(kMark) + std::string(Form::kNumberBlank) + ' ' +
          std::to_string(ask.interval.count()) + "] ";
  constexpr std::string_view kEnd = R"("}]})";
  constexpr std::array<std::string_view, 8> kWords{"prices ", "weigh ",    "less ", "than ",
                                                   "late ",   "answers, ", "as ",   "seen.\\n"};
  std::mt19937 chance{1};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same text in every run
  while (body.size() + kEnd.size() + kWords.back().size() <= bytes) body += kWords[chance() % kWords.size()];
  while (body.size() + kEnd.size() < bytes) body += '.';
  return body += kEnd;
}

std::optional<Ask> read_ask(std::string_view body) {
  const std::size_t mark = body.find(kMark);
  const std::size_t numbers = mark + kMark.size();
  if (mark == std::string_view::npos || body.size() < numbers + Form::kNumberBlank.size() + 1) {
    return std::nullopt;
  }
  Ask ask;
  ask.number = leading_number(body.substr(numbers, Form::kNumberBlank.size()));
  ask.interval =
      std::chrono::microseconds{leading_number(body.substr(numbers + Form::kNumberBlank.size() + 1))};
  ask.events = static_cast<std::uint32_t>(leading_number(value_of(body, R"("max_tokens")")));
  ask.stream = value_of(body, R"("stream")").starts_with("true");
  ask.usage = value_of(body, R"("include_usage")").starts_with("true");
  return ask;
}

std::string plain_answer() {
  std::string text = opening("", "chat.completion");
  text +=
      R"("choices":[{"index":0,"message":{"role":"assistant","content":"The mock engine gives the same answer )"
      R"(whatever it is asked, as long as a short answer of a real one, so that a request costs a router what )"
      R"(it would cost in earnest."},"logprobs":null,"finish_reason":"stop"}],)";
  text += kUsage;
  return text += "}";
}

std::string stream_event() {
  std::string text = chunk_opening();
  text += R"("choices":[{"index":0,"delta":{"content":")";
  text += Form::kStampBlank;
  return text += R"( "},"logprobs":null,"finish_reason":null}]})"
                 "\n\n";
}

std::string stream_end(bool usage) {
  std::string text = chunk_opening();
  text += R"("choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]})"
          "\n\n";
  if (usage) {
    text += chunk_opening();
    text += R"("choices":[],)";
    text += kUsage;
    text += "}\n\n";
  }
  return text += "data: [DONE]\n\n";
}

std::string as_chunk(std::string_view data) {
  constexpr int kHexadecimal = 16;
  std::array<char, sizeof(std::size_t) * 2> size{};
  const auto end = std::to_chars(size.data(), size.data() + size.size(), data.size(), kHexadecimal).ptr;
  return std::string(size.data(), end) + "\r\n" + std::string(data) + "\r\n";
}

}  // namespace fareway::bench
