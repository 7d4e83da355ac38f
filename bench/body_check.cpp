#include "bench/body_check.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fareway::bench {

BodyCheck::BodyCheck(const Ask& ask)
    : event_(stream_event()),
      last_(ask.stream ? stream_end(ask.usage) : plain_answer()),
      parts_(ask.stream ? ask.events + 1 : 1) {}

void BodyCheck::begin(std::uint64_t number) {
  event_.fill_number(number);
  last_.fill_number(number);
  part_ = 0;
  at_ = 0;
  stamp_ = 0;
}

bool BodyCheck::take(std::string_view bytes, std::vector<Instant>& times) {
  while (!bytes.empty()) {
    if (complete()) return false;
    const Form& expected = current();
    if (expected.has_stamp() && at_ >= expected.stamp_at() && at_ < expected.stamp_end()) {
      if (!take_stamp_digit(bytes.front())) return false;
      bytes.remove_prefix(1);
      continue;
    }
    const bool before_stamp = expected.has_stamp() && at_ < expected.stamp_at();
    const std::size_t until = before_stamp ? expected.stamp_at() : expected.text().size();
    const std::size_t size = std::min(until - at_, bytes.size());
    if (std::memcmp(bytes.data(), expected.text().data() + at_, size) != 0) return false;
    bytes.remove_prefix(size);
    at_ += size;
    if (at_ < expected.text().size()) continue;
    if (expected.has_stamp()) times.emplace_back(std::chrono::nanoseconds{std::exchange(stamp_, 0)});
    ++part_;
    at_ = 0;
  }
  return true;
}

bool BodyCheck::take_stamp_digit(char digit) {
  constexpr std::int64_t kDecimal = 10;
  if (digit < '0' || digit > '9') return false;
  stamp_ = stamp_ * kDecimal + (digit - '0');
  ++at_;
  return true;
}

}  // namespace fareway::bench
