#include "bench/reply_reader.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace fareway::bench {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kLongestHead = 16384;

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

template <class Number>
bool parse_whole(std::string_view text, int base, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string_view header_value(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find(kLineEnd); at != std::string_view::npos; at = head.find(kLineEnd, at)) {
    at += kLineEnd.size();
    const std::string_view line = head.substr(at, head.find(kLineEnd, at) - at);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (!same_letters(line.substr(0, name.size()), name)) continue;
    const std::size_t value = line.find_first_not_of(" \t", name.size() + 1);
    return value == std::string_view::npos ? std::string_view{} : line.substr(value);
  }
  return {};
}

void ReplyReader::reset() {
  state_ = State::kHead;
  chunk_ = Chunk::kNone;
  line_.clear();
}

std::string_view ReplyReader::take(std::string_view& bytes) {
  if (state_ == State::kHead) {
    take_head(bytes);
    return {};
  }
  if (chunk_ != Chunk::kNone && chunk_ != Chunk::kData) {
    take_line(bytes);
    return {};
  }
  const std::string_view piece = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
  bytes.remove_prefix(piece.size());
  left_ -= piece.size();
  if (left_ == 0) {
    if (chunk_ == Chunk::kData) {
      chunk_ = Chunk::kDataEnd;
    } else {
      state_ = State::kDone;
    }
  }
  return piece;
}

void ReplyReader::take_head(std::string_view& bytes) {
  const std::size_t before = line_.size();
  line_ += bytes;
  const std::size_t end = line_.find(kHeadEnd, before < kHeadEnd.size() ? 0 : before - kHeadEnd.size());
  if (end == std::string::npos) {
    bytes = {};
    if (line_.size() > kLongestHead) state_ = State::kBroken;
    return;
  }
  const std::size_t size = end + kHeadEnd.size();
  bytes.remove_prefix(size - before);
  line_.resize(size);
  begin_body();
  line_.clear();
}

void ReplyReader::begin_body() {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr std::size_t kStatusDigits = 3;
  constexpr int kDecimal = 10;
  const std::string_view head = line_;
  state_ = State::kBroken;
  if (!head.starts_with(kVersion)) return;
  if (!parse_whole(head.substr(kVersion.size(), kStatusDigits), kDecimal, status_)) return;
  keep_alive_ = !same_letters(header_value(head, "connection"), "close");
  if (same_letters(header_value(head, "transfer-encoding"), "chunked")) {
    chunk_ = Chunk::kSize;
    state_ = State::kBody;
  } else if (parse_whole(header_value(head, "content-length"), kDecimal, left_)) {
    state_ = left_ == 0 ? State::kDone : State::kBody;
  }
}

void ReplyReader::take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t size = end == std::string_view::npos ? bytes.size() : end + 1;
  line_ += bytes.substr(0, size);
  bytes.remove_prefix(size);
  if (line_.size() > kLongestHead) state_ = State::kBroken;
  if (end != std::string_view::npos) end_line();
}

void ReplyReader::end_line() {
  constexpr int kHexadecimal = 16;
  std::string_view line = line_;
  if (!line.ends_with(kLineEnd)) {
    state_ = State::kBroken;
    return;
  }
  line.remove_suffix(kLineEnd.size());
  if (chunk_ == Chunk::kSize) {
    if (!parse_whole(line.substr(0, line.find(';')), kHexadecimal, left_)) state_ = State::kBroken;
    chunk_ = left_ == 0 ? Chunk::kLastEnd : Chunk::kData;
  } else {
    if (!line.empty()) state_ = State::kBroken;
    if (chunk_ == Chunk::kLastEnd && state_ == State::kBody) state_ = State::kDone;
    chunk_ = Chunk::kSize;
  }
  line_.clear();
}

}  // namespace fareway::bench
