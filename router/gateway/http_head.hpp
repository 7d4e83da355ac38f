#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/gateway/errors.hpp"

namespace fareway {

inline constexpr std::size_t kMaxHeadBytes = 64u << 10;

/// Header fields in order of arrival; names in lower case.
class Fields {
 public:
  void add(std::string_view name, std::string_view value);
  /// First value of that (lower-case) name.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;

  struct Field {
    std::string name;
    std::string value;
  };
  const std::vector<Field>& all() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

struct RequestHead {
  std::string method;
  std::string target;
  bool http11{true};
  bool keep_alive{false};
  bool chunked{false};
  std::optional<std::uint64_t> content_length;
  Fields fields;

  bool has_body() const { return chunked || content_length.value_or(0) > 0; }
  bool expects_continue() const;
};

/// Reads one request from a client, strictly: whatever a front and a back could read in two ways is refused
/// (known framing tricks: both lengths, unknown codings, folded lines, odd Content-Length). Beast's parser
/// does the grammar. Not copyable; one per request. Feed it nothing more once `refusal()` is set.
class RequestReader {
 public:
  explicit RequestReader(std::size_t max_body_bytes);
  ~RequestReader();

  /// Takes from the front of `bytes`, returns how many; stops after the head, then after the body. What it
  /// leaves must be given again with more bytes behind it.
  std::size_t feed(std::string_view bytes);

  bool head_done() const;
  bool done() const;
  const std::optional<Refusal>& refusal() const;
  /// Valid once the head is done.
  const RequestHead& head() const;
  /// The body so far; room for a JSON parser's read-ahead is reserved behind it.
  std::string take_body();

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

/// Reads one answer of an engine. Interim (1xx) answers are skipped. Bodies are handed out as they lie in the
/// input.
class AnswerReader {
 public:
  AnswerReader();
  ~AnswerReader();

  /// As RequestReader::feed; after the head, decoded body bytes are added to `body` as views into `bytes`.
  std::size_t feed(std::string_view bytes, std::vector<std::string_view>& body);
  /// The peer closed. True where that is a proper end of this message.
  bool end_of_input();

  bool head_done() const;
  bool done() const;
  bool failed() const;  ///< not HTTP, or more than one framing
  unsigned status() const;
  bool close_delimited() const;
  bool keep_alive() const;
  std::optional<std::uint64_t> content_length() const;
  const Fields& fields() const;

 private:
  class Parser;
  void restart();
  std::optional<std::size_t> feed_bare_status_line(std::string_view bytes);

  std::unique_ptr<Parser> parser_;
  std::size_t interim_answers_{0};
};

/// "200 OK" and so on; unknown codes get their class's phrase.
std::string status_line(int status);
/// Appends "name: value\r\n". Values come from parsed fields or from us, so they hold no line ends.
void append_field(std::string& head, std::string_view name, std::string_view value);

}  // namespace fareway
