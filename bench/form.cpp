#include "bench/form.hpp"

#include <utility>

namespace fareway::bench {
namespace {

void write_digits(std::string& text, std::size_t at, std::size_t digits, std::uint64_t value) {
  constexpr std::uint64_t kBase = 10;
  for (std::size_t i = digits; i-- > 0; value /= kBase) {
    text[at + i] = static_cast<char>('0' + value % kBase);
  }
}

}  // namespace

Form::Form(std::string with_blanks) : text_(std::move(with_blanks)), stamp_at_(text_.find(kStampBlank)) {
  for (std::size_t at = text_.find(kNumberBlank); at != std::string::npos;
       at = text_.find(kNumberBlank, at + kNumberBlank.size())) {
    numbers_at_.push_back(at);
  }
}

void Form::fill_number(std::uint64_t number) {
  for (const std::size_t at : numbers_at_) write_digits(text_, at, kNumberBlank.size(), number);
}

void Form::fill_stamp(Instant time) {
  const auto nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  write_digits(text_, stamp_at_, kStampDigits, static_cast<std::uint64_t>(nanoseconds));
}

}  // namespace fareway::bench
