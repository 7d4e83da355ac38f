#include "placement/estimates/text_bytes.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace fareway {
namespace {

std::string repeated(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(TextBytes, TellsScriptsApart) {
  EXPECT_EQ(bytes_by_script("The quick brown fox jumps over the lazy dog.").most(), Script::kLatin);
  EXPECT_EQ(bytes_by_script("Größe, façade, naïveté und Übermut").most(), Script::kLatin);
  EXPECT_EQ(bytes_by_script("Съешь ещё этих мягких французских булок").most(), Script::kCyrillic);
  EXPECT_EQ(bytes_by_script("敏捷的棕色狐狸跳过了懒狗").most(), Script::kCjk);
  EXPECT_EQ(bytes_by_script("いろはにほへと 한국어").most(), Script::kCjk);
  EXPECT_EQ(bytes_by_script("for (int i = 0; i < n; ++i) { sum += x[i] * y[i]; }").most(), Script::kCode);
  EXPECT_EQ(bytes_by_script(R"({"name":"f","parameters":{"type":"object"}})").most(), Script::kCode);
  EXPECT_EQ(bytes_by_script("สวัสดีชาวโลก").most(), Script::kOther);
}

TEST(TextBytes, SplitsMixedTextByBytes) {
  const TextBytes bytes = bytes_by_script("ab Приве");  // three of ASCII, five letters of two bytes
  EXPECT_EQ(bytes[Script::kLatin], 3);
  EXPECT_EQ(bytes[Script::kCyrillic], 10);
}

TEST(TextBytes, LooksAtLongTextsInPlacesAndCountsTheWhole) {
  const std::string text =
      repeated("plain words and more of them ", 20'000) + repeated("if (a[i] != b[j]) { x += 3; } ", 20'000);
  const TextBytes bytes = bytes_by_script(text);
  EXPECT_NEAR(bytes.total(), static_cast<double>(text.size()), 1e-6);
  EXPECT_NEAR(bytes[Script::kCode] / bytes.total(), 600'000.0 / 1'180'000.0, 0.02);
}

TEST(TextBytes, TakesAnyBytes) {
  std::mt19937_64 random(3);
  for (std::size_t size = 0; size < 700; ++size) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_NEAR(bytes_by_script(text).total(), static_cast<double>(size), 1e-6);
  }
}

}  // namespace
}  // namespace fareway
