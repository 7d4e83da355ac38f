#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/form.hpp"
#include "bench/payload.hpp"
#include "bench/sockets.hpp"

namespace fareway::bench {

/// Compares a reply's body, as it comes, with the bytes the engine sent. Equal but for the times in a
/// stream's events, which are read out.
class BodyCheck {
 public:
  explicit BodyCheck(const Ask& ask);
  void begin(std::uint64_t number);
  /// False where a byte differs, or there are too many. Times of events that are now complete go to `times`.
  bool take(std::string_view bytes, std::vector<Instant>& times);
  bool complete() const { return part_ == parts_; }

 private:
  const Form& current() const { return part_ + 1 < parts_ ? event_ : last_; }
  bool take_stamp_digit(char digit);

  Form event_;
  Form last_;            // end of a stream, or the whole of a plain answer
  std::uint32_t parts_;  // events and the last
  std::uint32_t part_{0};
  std::size_t at_{0};  // in the current part
  std::int64_t stamp_{0};
};

}  // namespace fareway::bench
