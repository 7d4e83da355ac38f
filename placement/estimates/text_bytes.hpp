#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fareway {

/// Kinds of text that tokenisers pack differently. Code-like is ASCII dense in marks and digits: source code,
/// JSON, tables, schemas of tools.
enum class Script : std::uint8_t { kLatin, kCyrillic, kCjk, kCode, kOther };
inline constexpr std::size_t kScripts = 5;

/// Bytes of a prompt's text by script. Estimates learn a ratio for each, so the split need only be
/// consistent.
struct TextBytes {
  std::array<double, kScripts> by_script{};

  double operator[](Script script) const { return by_script[static_cast<std::size_t>(script)]; }
  double total() const;
  /// The script most of the text is in.
  Script most() const;
  TextBytes& operator+=(const TextBytes& other);
};

/// Splits UTF-8 text by script in windows of 256 bytes. Of long texts only 64 windows, evenly spread, are
/// looked at and stand for the rest: at most 16 KiB are read. Any bytes are taken; what is no UTF-8 counts as
/// other.
TextBytes bytes_by_script(std::string_view text);

}  // namespace fareway
