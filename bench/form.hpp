#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sockets.hpp"

namespace fareway::bench {

/// A text with blanks for a request's number (twenty digits, any number of times) and for one time (nineteen
/// digits, nanoseconds), filled in place: the same bytes are sent and expected without being built anew.
class Form {
 public:
  static constexpr std::size_t kStampDigits = 19;
  static constexpr std::string_view kNumberBlank = "@@@@@@@@@@@@@@@@@@@@";
  static constexpr std::string_view kStampBlank = "~~~~~~~~~~~~~~~~~~~";

  explicit Form(std::string with_blanks);

  void fill_number(std::uint64_t number);
  void fill_stamp(Instant time);

  std::string_view text() const { return text_; }
  bool has_stamp() const { return stamp_at_ != std::string::npos; }
  std::size_t stamp_at() const { return stamp_at_; }
  std::size_t stamp_end() const { return stamp_at_ + kStampDigits; }

 private:
  std::string text_;
  std::vector<std::size_t> numbers_at_;
  std::size_t stamp_at_;
};

}  // namespace fareway::bench
