#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/router/config/config_text.hpp"

namespace fareway {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::small_config;
using ::testing::StartsWith;

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (; times > 0; --times) text += piece;
  return text;
}

TEST(YamlLimits, ReportsASyntaxErrorWithItsLine) {
  EXPECT_THAT(error_of("listen: a:1\nmodels: [\n  x, }\n"), StartsWith("test.yaml:3: not valid YAML: "));
}

TEST(YamlLimits, RefusesAnEmptyFileAndASecondDocument) {
  EXPECT_THAT(error_of(""), StartsWith("test.yaml: is empty"));
  EXPECT_THAT(error_of("# only a comment\n"), StartsWith("test.yaml: is empty"));
  EXPECT_THAT(error_of(small_config() + "---\nlisten: a:1\n"), HasSubstr("second document"));
}

TEST(YamlLimits, RefusesAFileThatIsNoMap) {
  for (const char* text : {"just text", "- a\n- b\n", "---\n", "42"}) {
    EXPECT_THAT(error_of(text), HasSubstr("must hold keys and values")) << text;
  }
}

TEST(YamlLimits, RefusesDeepNestingOfAnyKind) {
  constexpr std::size_t kDeep = 100'000;
  EXPECT_THAT(error_of("a: " + repeated("[", kDeep)), HasSubstr("more than 64 levels"));
  EXPECT_THAT(error_of(repeated("{a: ", kDeep)), HasSubstr("more than 64 levels"));
  EXPECT_THAT(error_of(repeated("- ", kDeep) + "a"), HasSubstr("more than 64 levels"));
}

TEST(YamlLimits, CountsNestingThroughAliases) {
  // Line 63 makes a map of 63 lists around a scalar: 65 levels.
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 70; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_THAT(error_of(text), StartsWith("test.yaml:63: nested more than 64 levels"));
}

TEST(YamlLimits, RefusesAliasesThatStandForBillionsOfValues) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string inner = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated(inner + ", ", 9) + inner +
            "]\n";
  }
  EXPECT_THAT(error_of(text), HasSubstr("more than 200000 values"));
}

TEST(YamlLimits, RefusesAnAliasInsideWhatItRefersTo) {
  EXPECT_THAT(error_of("a: &a [*a]\n"), StartsWith("test.yaml:1: an alias stands inside"));
}

TEST(YamlLimits, RefusesMoreThanFourMebibytes) {
  const std::string padding = "#" + std::string((4u << 20) - small_config().size() - 2, 'x') + "\n";
  EXPECT_NO_THROW(parse_config(small_config() + padding, "test.yaml"));
  EXPECT_THAT(error_of(small_config() + padding + "\n"), HasSubstr("larger than 4 MiB"));
}

TEST(YamlLimits, RefusesControlCharactersWithTheirLine) {
  EXPECT_THAT(error_of("listen: x\nadmin: \x04\n"), StartsWith("test.yaml:2: holds a control character"));
  EXPECT_THAT(error_of(std::string("a\0b", 3)), StartsWith("test.yaml:1: holds a control character"));
}

TEST(YamlLimits, RefusesTagsAndKeysThatAreNoText) {
  EXPECT_THAT(error_of("a: !!binary aGk=\n"), HasSubstr("has a tag"));
  EXPECT_THAT(error_of("? [a, b]\n: c\n"), HasSubstr("a key is missing or no plain text"));
  EXPECT_THAT(error_of("~: c\n"), HasSubstr("a key is missing or no plain text"));
}

TEST(YamlLimits, SurvivesEveryTruncationOfAFile) {
  const std::string whole = small_config();
  for (std::size_t length = 0; length < whole.size() - 1; ++length) {
    try {
      parse_config(whole.substr(0, length), "test.yaml");
    } catch (const ConfigError& error) {
      EXPECT_FALSE(error.problems().empty());
    }
  }
}

TEST(YamlLimits, TellsOnlyTheNumberOfProblemsPastAHundred) {
  const std::string text = "tenants: [" + repeated("x, ", 300) + "x]\n" + repeated("# \n", 3);
  try {
    parse_config(text, "test.yaml");
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 101u);
    EXPECT_THAT(error.what(), HasSubstr("more problems"));
  }
}

}  // namespace
}  // namespace fareway
