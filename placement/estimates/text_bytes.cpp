#include "placement/estimates/text_bytes.hpp"

#include <algorithm>
#include <numeric>

namespace fareway {
namespace {

constexpr std::size_t kWindow = 256;
constexpr std::size_t kMostWindows = 64;
/// English prose has 3 to 5 % of marks and digits, source code and JSON 15 to 35 %.
constexpr double kCodeFrom = 0.12;

enum class ByteKind : std::uint8_t { kLetter, kMark, kContinuation, kLatinPair, kCyrillicPair, kCjk, kOther };
constexpr std::size_t kByteKinds = 7;

/// What a byte of UTF-8 is by itself; leading bytes speak for their whole character.
constexpr ByteKind kind_of_byte(unsigned byte) {
  if (byte < 0x80) {
    const bool letter =
        (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == ' ' || byte == '\n';
    return letter ? ByteKind::kLetter : ByteKind::kMark;
  }
  if (byte < 0xc0) return ByteKind::kContinuation;
  if (byte <= 0xc9) return ByteKind::kLatinPair;                     // U+0080 to U+027F
  if (byte >= 0xd0 && byte <= 0xd4) return ByteKind::kCyrillicPair;  // U+0400 to U+053F
  if (byte >= 0xe3 && byte <= 0xed) return ByteKind::kCjk;  // U+3000 to U+DFFF: kana, ideographs, Hangul
  return ByteKind::kOther;
}

constexpr std::array<ByteKind, 256> kByteKind = [] {
  std::array<ByteKind, 256> kinds{};
  for (unsigned byte = 0; byte < kinds.size(); ++byte) kinds[byte] = kind_of_byte(byte);
  return kinds;
}();

TextBytes split_window(std::string_view window) {
  // Counters in turn: one that is raised again at once waits for its own last store.
  constexpr std::size_t kTurns = 4;
  std::array<std::array<std::uint32_t, kByteKinds>, kTurns> counts{};
  for (std::size_t i = 0; i < window.size(); ++i)
    ++counts[i % kTurns][static_cast<std::size_t>(kByteKind[static_cast<unsigned char>(window[i])])];
  const auto of = [&](ByteKind kind) {
    std::uint32_t sum = 0;
    for (const auto& count : counts) sum += count[static_cast<std::size_t>(kind)];
    return static_cast<double>(sum);
  };

  TextBytes bytes;
  const double ascii = of(ByteKind::kLetter) + of(ByteKind::kMark);
  const bool code = ascii > 0 && of(ByteKind::kMark) > kCodeFrom * ascii;
  bytes.by_script[static_cast<std::size_t>(code ? Script::kCode : Script::kLatin)] = ascii;
  bytes.by_script[static_cast<std::size_t>(Script::kLatin)] += 2 * of(ByteKind::kLatinPair);
  bytes.by_script[static_cast<std::size_t>(Script::kCyrillic)] = 2 * of(ByteKind::kCyrillicPair);
  bytes.by_script[static_cast<std::size_t>(Script::kCjk)] = 3 * of(ByteKind::kCjk);
  // Whatever no leading byte of the others accounts for; a window may cut a character, hence the bound.
  const double known = bytes.total();
  bytes.by_script[static_cast<std::size_t>(Script::kOther)] =
      std::max(0.0, static_cast<double>(window.size()) - known);
  return bytes;
}

}  // namespace

double TextBytes::total() const {
  return std::accumulate(by_script.begin(), by_script.end(), 0.0);
}

Script TextBytes::most() const {
  return static_cast<Script>(std::ranges::max_element(by_script) - by_script.begin());
}

TextBytes& TextBytes::operator+=(const TextBytes& other) {
  for (std::size_t i = 0; i < kScripts; ++i) by_script[i] += other.by_script[i];
  return *this;
}

TextBytes bytes_by_script(std::string_view text) {
  TextBytes bytes;
  if (text.empty()) return bytes;
  const std::size_t windows = (text.size() + kWindow - 1) / kWindow;
  const std::size_t looked_at = std::min(windows, kMostWindows);
  for (std::size_t i = 0; i < looked_at; ++i)
    bytes += split_window(text.substr(i * windows / looked_at * kWindow, kWindow));
  // The windows stand for the whole, to the byte.
  const double scale = static_cast<double>(text.size()) / bytes.total();
  for (double& count : bytes.by_script) count *= scale;
  return bytes;
}

}  // namespace fareway
