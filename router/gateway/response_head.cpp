#include "router/gateway/response_head.hpp"

#include <algorithm>
#include <array>

namespace fareway {

namespace {

bool goes_to_client(std::string_view name) {
  constexpr std::array kAllowed{
      std::string_view("content-type"),         std::string_view("content-encoding"),
      std::string_view("content-language"),     std::string_view("cache-control"),
      std::string_view("retry-after"),          std::string_view("x-should-retry"),
      std::string_view("openai-processing-ms"), std::string_view("openai-version")};
  return name.starts_with("x-ratelimit-") ||
         std::find(kAllowed.begin(), kAllowed.end(), name) != kAllowed.end();
}

void append_connection(std::string& head, bool keep_alive) {
  append_field(head, "connection", keep_alive ? "keep-alive" : "close");
}

}  // namespace

std::string write_head(const RelayedHead& head) {
  std::string text = status_line(head.status);
  for (const auto& [name, value] : head.fields.all()) {
    if (goes_to_client(name)) append_field(text, name, value);
  }
  append_field(text, "x-request-id", head.request_id);
  append_field(text, "x-fareway-pool", head.pool);
  append_field(text, "x-fareway-class", head.service_class);
  if (head.framing == Framing::kLength) append_field(text, "content-length", std::to_string(head.length));
  if (head.framing == Framing::kChunked) append_field(text, "transfer-encoding", "chunked");
  append_connection(text, head.keep_alive && head.framing != Framing::kClose);
  return text += "\r\n";
}

std::string write_answer(const OwnAnswer& answer) {
  std::string text = status_line(answer.status);
  append_field(text, "content-type", "application/json");
  append_field(text, "content-length", std::to_string(answer.body.size()));
  append_field(text, "x-request-id", answer.request_id);
  if (answer.retry_after) append_field(text, "retry-after", std::to_string(*answer.retry_after));
  if (!answer.allow.empty()) append_field(text, "allow", answer.allow);
  append_connection(text, answer.keep_alive);
  text += "\r\n";
  if (!answer.head_only) text += answer.body;
  return text;
}

std::string write_refusal(const Refusal& refusal, Dialect dialect, std::string_view request_id,
                          bool keep_alive) {
  return write_answer({.status = refusal.status,
                       .body = error_body(refusal, dialect),
                       .request_id = request_id,
                       .keep_alive = keep_alive,
                       .retry_after = refusal.retry_after,
                       .allow = refusal.allow});
}

std::string chunk_size_line(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string line;
  do {
    line.insert(line.begin(), kDigits[bytes & 15u]);
    bytes >>= 4u;
  } while (bytes > 0);
  return line += "\r\n";
}

}  // namespace fareway
