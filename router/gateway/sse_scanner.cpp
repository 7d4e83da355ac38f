#include "router/gateway/sse_scanner.hpp"

#include <algorithm>
#include <utility>

namespace fareway {

namespace {

constexpr std::size_t kLargestEvent = 1u << 20;

/// A line without its end, be that LF or CR LF.
std::string_view chomp(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

void SseScanner::feed(std::string_view bytes) {
  ready_.clear();
  held_.clear();
  released_carry_.clear();
  while (!bytes.empty() && (oversized_ || !carry_.empty())) {
    bytes.remove_prefix(oversized_ ? pass_oversized(bytes) : complete_carried(bytes));
  }
  // Events that lie in `bytes` as a whole are not copied.
  std::size_t unit = 0;
  std::size_t line = 0;
  for (;;) {
    const std::size_t end = bytes.find('\n', line);
    if (end == std::string_view::npos) break;
    if (end_line(bytes.substr(line, end + 1 - line), line == unit)) {
      release(bytes.substr(unit, end + 1 - unit));
      unit = end + 1;
    }
    line = end + 1;
  }
  if (unit == bytes.size()) return;
  carry_.assign(bytes.substr(unit));
  carry_line_ = line - unit;
}

/// Takes lines into the carried event until it is whole or `bytes` are used up.
std::size_t SseScanner::complete_carried(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const std::size_t end = bytes.find('\n', taken);
    const std::size_t next = end == std::string_view::npos ? bytes.size() : end + 1;
    carry_.append(bytes.substr(taken, next - taken));
    taken = next;
    const bool whole = end != std::string_view::npos &&
                       end_line(std::string_view(carry_).substr(carry_line_), carry_line_ == 0);
    if (end != std::string_view::npos && !whole) carry_line_ = carry_.size();
    if (!whole && carry_.size() < kLargestEvent) continue;
    oversized_ = !whole;
    line_has_bytes_ = carry_line_ < carry_.size();
    begun_ = begun_ || oversized_;
    released_carry_ = std::exchange(carry_, {});
    carry_line_ = 0;
    whole ? release(released_carry_) : let_go(released_carry_);
    return taken;
  }
  return taken;
}

std::size_t SseScanner::pass_oversized(std::string_view bytes) {
  std::size_t taken = 0;
  while (oversized_ && taken < bytes.size()) {
    const std::size_t end = bytes.find('\n', taken);
    if (end == std::string_view::npos) {
      line_has_bytes_ =
          line_has_bytes_ || bytes.substr(taken).find_first_not_of('\r') != std::string_view::npos;
      taken = bytes.size();
    } else {
      oversized_ = line_has_bytes_ || !chomp(bytes.substr(taken, end + 1 - taken)).empty();
      line_has_bytes_ = false;
      taken = end + 1;
    }
  }
  let_go(bytes.substr(0, taken));
  return taken;
}

void SseScanner::finish() {
  ready_.clear();
  held_.clear();
  if (carry_.empty()) return;
  released_carry_ = std::exchange(carry_, {});
  carry_line_ = 0;
  release(released_carry_);
}

/// True where this line ends a unit: a blank line ends an event, a comment before any field stands alone.
bool SseScanner::end_line(std::string_view line, bool first) {
  return chomp(line).empty() || (first && line.front() == ':');
}

void SseScanner::release(std::string_view unit) {
  if (inspect(unit)) let_go(unit);
}

void SseScanner::let_go(std::string_view bytes) {
  if (bytes.empty()) return;
  auto& list = facts_.terminal ? held_ : ready_;
  if (!list.empty() && list.back().data() + list.back().size() == bytes.data()) {
    list.back() = {list.back().data(), list.back().size() + bytes.size()};
  } else {
    list.push_back(bytes);
  }
}

/// Reads one whole event; false where the client is not to see it.
bool SseScanner::inspect(std::string_view unit) {
  std::string_view data;
  std::string joined;  // only for data of several lines
  bool error_line = false;
  bool error_event = false;
  for (std::size_t at = 0; at < unit.size();) {
    const std::size_t end = std::min(unit.find('\n', at), unit.size() - 1);
    const std::string_view line = chomp(unit.substr(at, end + 1 - at));
    at = end + 1;
    if (line.starts_with("data:")) {
      const std::string_view value = trim(line.substr(5));
      if (data.empty()) {
        data = value;
      } else {
        if (joined.empty()) joined = data;
        joined.append("\n").append(value);
        data = joined;
      }
    } else if (line.starts_with("error:")) {  // llama.cpp before November 2025
      error_line = true;
    } else if (line.starts_with("event:")) {
      error_event = trim(line.substr(6)) == "error";
    }
  }
  if (error_line || error_event) facts_.error = true;
  if (error_line || !data.empty()) begun_ = true;
  if (data.empty()) return true;
  const bool was_terminal = facts_.terminal;
  const AnswerPart part = reading_.event(data, facts_);
  return was_terminal || part != AnswerPart::kUsageOnly || usage_chunk_ == UsageChunk::kRelay;
}

}  // namespace fareway
