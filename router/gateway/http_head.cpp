#include "router/gateway/http_head.hpp"

#include <algorithm>
#include <cctype>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/status.hpp>

namespace fareway {

namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kReadAhead = 64;  // what simdjson may read behind a body
constexpr std::size_t kReserveAtMost = 4u << 20;
constexpr std::size_t kMaxInterimAnswers = 16;

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}
boost::asio::const_buffer buffer(std::string_view text) {
  return {text.data(), text.size()};
}

/// A line that continues the one before it (obsolete in HTTP, and read differently by different servers).
bool has_folded_line(std::string_view lines) {
  for (std::size_t at = lines.find('\n'); at != std::string_view::npos; at = lines.find('\n', at + 1)) {
    if (at + 1 < lines.size() && (lines[at + 1] == ' ' || lines[at + 1] == '\t')) return true;
  }
  return false;
}

/// What both directions share: fields are kept until the head is done, trailers are dropped.
template <bool kIsRequest>
class MessageParser : public http::basic_parser<kIsRequest> {
 public:
  MessageParser() {
    this->header_limit(static_cast<std::uint32_t>(kMaxHeadBytes));
    this->body_limit(boost::none);
    this->eager(false);
  }
  Fields fields;

 protected:
  using View = boost::beast::string_view;
  void on_field_impl(http::field, View name, View value, ErrorCode&) override {
    if (!this->is_header_done()) fields.add(view(name), view(value));
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  void on_chunk_header_impl(std::uint64_t, View, ErrorCode&) override {}
  void on_finish_impl(ErrorCode&) override {}
};

std::optional<Refusal> check_framing(const RequestHead& head) {
  using refusals::bad_http;
  const std::size_t codings = head.fields.count("transfer-encoding");
  if (codings > 0) {
    if (!head.http11) return bad_http(400, "Transfer-Encoding is not part of HTTP/1.0.");
    if (head.fields.count("content-length") > 0) {
      return bad_http(400, "The request has both Content-Length and Transfer-Encoding.");
    }
    if (codings > 1 || !equal_ignoring_case(*head.fields.find("transfer-encoding"), "chunked")) {
      return bad_http(400, "The only Transfer-Encoding taken is a single 'chunked'.");
    }
  }
  if (head.fields.count("content-length") > 1)
    return bad_http(400, "The request has more than one Content-Length.");
  if (const auto length = head.fields.find("content-length");
      length && !std::all_of(length->begin(), length->end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return bad_http(400, "Content-Length is not a plain number.");
  }
  return std::nullopt;
}

std::optional<Refusal> check_head(const RequestHead& head) {
  if (auto refusal = check_framing(head)) return refusal;
  using refusals::bad_http;
  const std::size_t hosts = head.fields.count("host");
  if (hosts > 1 || (head.http11 && hosts == 0))
    return bad_http(400, "The request needs exactly one Host header.");
  if (head.fields.count("authorization") > 1 || head.fields.count("x-api-key") > 1) {
    return bad_http(400, "The request carries more than one credential.");
  }
  if (!head.target.starts_with('/')) return bad_http(400, "The request target must be a path.");
  return std::nullopt;
}

}  // namespace

void Fields::add(std::string_view name, std::string_view value) {
  Field field{std::string(name), std::string(value)};
  for (char& c : field.name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  fields_.push_back(std::move(field));
}

std::optional<std::string_view> Fields::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

std::size_t Fields::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; }));
}

bool RequestHead::expects_continue() const {
  const auto expect = fields.find("expect");
  return http11 && expect && equal_ignoring_case(*expect, "100-continue");
}

class RequestReader::Parser : public MessageParser<true> {
 public:
  explicit Parser(std::size_t max_body_bytes) : max_body(max_body_bytes) {}

  std::size_t max_body;
  std::size_t head_bytes{0};
  RequestHead head;
  std::string body;
  std::optional<Refusal> refusal;

  void finish_head() {
    head.fields = std::move(fields);
    head.keep_alive = keep_alive();
    head.chunked = chunked();
    if (const auto length = content_length()) head.content_length = *length;
    refusal = check_head(head);
    if (!refusal && head.content_length.value_or(0) > max_body) refusal = refusals::too_large(max_body);
    if (!refusal && head.content_length) {
      body.reserve(std::min<std::size_t>(*head.content_length, kReserveAtMost) + kReadAhead);
    }
  }

 private:
  void on_request_impl(http::verb, View method, View target, int version, ErrorCode&) override {
    head.method = view(method);
    head.target = view(target);
    head.http11 = version >= 11;
  }
  void on_response_impl(int, View, int, ErrorCode&) override {}
  void on_header_impl(ErrorCode&) override {}
  std::size_t on_body_impl(View bytes, ErrorCode& ec) override { return append(bytes, ec); }
  std::size_t on_chunk_body_impl(std::uint64_t, View bytes, ErrorCode& ec) override {
    return append(bytes, ec);
  }

  std::size_t append(View bytes, ErrorCode& ec) {
    if (bytes.size() > max_body - body.size()) {
      refusal = refusals::too_large(max_body);
      ec = http::error::body_limit;
      return 0;
    }
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
};

RequestReader::RequestReader(std::size_t max_body_bytes)
    : parser_(std::make_unique<Parser>(max_body_bytes)) {}
RequestReader::~RequestReader() = default;

std::size_t RequestReader::feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !done() && !refusal()) {
    const bool in_head = !parser_->is_header_done();
    const std::string_view rest = bytes.substr(taken);
    ErrorCode ec;
    const std::size_t used = parser_->put(buffer(rest), ec);
    taken += used;
    if (in_head) {
      parser_->head_bytes += used;
      const bool more = ec == http::error::need_more;
      if (ec == http::error::header_limit ||
          parser_->head_bytes + (more ? rest.size() - used : 0) > kMaxHeadBytes) {
        parser_->refusal = refusals::bad_http(431, "The request head is larger than 64 KiB.");
      } else if (has_folded_line(rest.substr(0, used))) {
        parser_->refusal = refusals::bad_http(400, "Header lines must not be folded.");
      }
    }
    if (ec == http::error::need_more || parser_->refusal) break;
    if (ec) {
      parser_->refusal = refusals::bad_http(400, "The request is not valid HTTP/1.1: " + ec.message() + ".");
      break;
    }
    if (in_head && parser_->is_header_done()) {
      parser_->finish_head();
      break;
    }
  }
  return taken;
}

bool RequestReader::head_done() const {
  return parser_->is_header_done();
}
bool RequestReader::done() const {
  return parser_->is_done();
}
const std::optional<Refusal>& RequestReader::refusal() const {
  return parser_->refusal;
}
const RequestHead& RequestReader::head() const {
  return parser_->head;
}
std::string RequestReader::take_body() {
  parser_->body.reserve(parser_->body.size() + kReadAhead);
  return std::move(parser_->body);
}

class AnswerReader::Parser : public MessageParser<false> {
 public:
  unsigned status{0};
  std::size_t head_bytes{0};
  bool failed{false};
  std::vector<std::string_view>* body{nullptr};

 private:
  void on_request_impl(http::verb, View, View, int, ErrorCode&) override {}
  void on_response_impl(int code, View, int, ErrorCode&) override { status = static_cast<unsigned>(code); }
  void on_header_impl(ErrorCode&) override {}
  std::size_t on_body_impl(View bytes, ErrorCode&) override { return hand_out(bytes); }
  std::size_t on_chunk_body_impl(std::uint64_t, View bytes, ErrorCode&) override { return hand_out(bytes); }
  std::size_t hand_out(View bytes) {
    if (!bytes.empty()) body->push_back(view(bytes));
    return bytes.size();
  }
};

AnswerReader::AnswerReader() {
  restart();
}
AnswerReader::~AnswerReader() = default;
void AnswerReader::restart() {
  parser_ = std::make_unique<Parser>();
}

/// Beast wants the blank that some servers leave out where they send no reason phrase ("HTTP/1.1 200\r\n").
/// Gives it such a line with the blank; returns the bytes taken, or nothing where more are needed to tell.
std::optional<std::size_t> AnswerReader::feed_bare_status_line(std::string_view bytes) {
  constexpr std::string_view kModel = "HTTP/1.1 200\r\n";
  if (bytes.size() < kModel.size()) return std::nullopt;
  const std::string_view line = bytes.substr(0, kModel.size());
  if (!line.starts_with("HTTP/1.") || !line.ends_with("\r\n")) return 0;
  const std::string with_blank = std::string(line.substr(0, kModel.size() - 2)) + " \r\n";
  ErrorCode ec;
  parser_->put(buffer(with_blank), ec);
  if (ec && ec != http::error::need_more) parser_->failed = true;
  return kModel.size();
}

std::size_t AnswerReader::feed(std::string_view bytes, std::vector<std::string_view>& body) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !done() && !failed()) {
    if (!parser_->got_some()) {
      const auto used = feed_bare_status_line(bytes.substr(taken));
      if (!used) break;
      taken += *used;
      if (*used > 0) continue;
    }
    const bool in_head = !parser_->is_header_done();
    const std::string_view rest = bytes.substr(taken);
    parser_->body = &body;
    ErrorCode ec;
    const std::size_t used = parser_->put(buffer(rest), ec);
    taken += used;
    if (in_head) {
      parser_->head_bytes += used;
      const bool more = ec == http::error::need_more;
      if (parser_->head_bytes + (more ? rest.size() - used : 0) > kMaxHeadBytes) parser_->failed = true;
    }
    if (ec == http::error::need_more) break;
    if (ec) parser_->failed = true;
    if (failed() || !in_head || !parser_->is_header_done()) continue;
    if (parser_->status / 100 != 1) break;
    // 101 would change the protocol, which nobody asked for.
    if (parser_->status == 101 || ++interim_answers_ > kMaxInterimAnswers) {
      parser_->failed = true;
    } else {
      restart();
    }
  }
  return taken;
}

bool AnswerReader::end_of_input() {
  if (!parser_->got_some() || failed()) return false;
  if (parser_->is_done()) return true;
  ErrorCode ec;
  parser_->put_eof(ec);
  return !ec && parser_->is_done();
}

bool AnswerReader::head_done() const {
  return parser_->is_header_done();
}
bool AnswerReader::done() const {
  return parser_->is_done();
}
bool AnswerReader::failed() const {
  return parser_->failed;
}
unsigned AnswerReader::status() const {
  return parser_->status;
}
bool AnswerReader::close_delimited() const {
  return parser_->need_eof();
}
bool AnswerReader::keep_alive() const {
  return parser_->keep_alive();
}
std::optional<std::uint64_t> AnswerReader::content_length() const {
  const auto length = parser_->content_length();
  return length && !parser_->chunked() ? std::optional<std::uint64_t>(*length) : std::nullopt;
}
const Fields& AnswerReader::fields() const {
  return parser_->fields;
}

std::string status_line(int status) {
  const auto phrase = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  return "HTTP/1.1 " + std::to_string(status) + " " + std::string(view(phrase)) + "\r\n";
}

void append_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace fareway
