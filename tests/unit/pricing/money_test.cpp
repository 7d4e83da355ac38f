#include "pricing/money.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace fareway {
namespace {

TEST(ParseUsd, ReadsDecimalsExactly) {
  EXPECT_EQ(parse_usd("2.5"), NanoUsd{2'500'000'000});
  EXPECT_EQ(parse_usd("0.000000001"), NanoUsd{1});
  EXPECT_EQ(parse_usd("0.1"), NanoUsd{100'000'000});
  EXPECT_EQ(parse_usd("9000000000"), NanoUsd{9'000'000'000 * kNanoPerUsd});
}

TEST(ParseUsd, RefusesWhatIsNotAPlainAmount) {
  for (const char* text : {"",
                           ".",
                           "1.",
                           ".5",
                           "-1",
                           "+1",
                           "1e3",
                           "0x10",
                           "1,5",
                           "$1",
                           "1 ",
                           " 1",
                           "nan",
                           "inf",
                           "1.0000000001",
                           "9000000001",
                           "99999999999999999999",
                           "1.-5",
                           "1.5.2",
                           "--1"})
    EXPECT_FALSE(parse_usd(text)) << '"' << text << '"';
}

TEST(FormatUsd, KeepsEveryNanodollarAndAtLeastCents) {
  EXPECT_EQ(format_usd({0}), "$0.00");
  EXPECT_EQ(format_usd({2'500'000'000}), "$2.50");
  EXPECT_EQ(format_usd({1}), "$0.000000001");
  EXPECT_EQ(format_usd({-1}), "-$0.000000001");
  EXPECT_EQ(format_usd({1'234'567'890}), "$1.23456789");
  EXPECT_EQ(format_usd({std::numeric_limits<std::int64_t>::min()}), "-$9223372036.854775808");
}

TEST(FormatUsd, IsReadBackByParseUsd) {
  for (const std::int64_t amount : {0L, 1L, 999'999'999L, 1'000'000'000L, 123'456'789'012'345L})
    EXPECT_EQ(parse_usd(format_usd({amount}).substr(1)), NanoUsd{amount});
}

}  // namespace
}  // namespace fareway
