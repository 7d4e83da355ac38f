#include "router/config/week_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fareway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kDay = 24 * 60;

std::vector<WeekWindow> windows(std::string_view text) {
  const auto parsed = parse_week_windows(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : std::vector<WeekWindow>{};
}

TEST(WeekText, ReadsDaysHoursAndBoth) {
  EXPECT_THAT(windows("tue"), ElementsAre(WeekWindow{kDay, 2 * kDay}));
  EXPECT_THAT(windows("mon-tue 08:00-18:30"),
              ElementsAre(WeekWindow{480, 1110}, WeekWindow{kDay + 480, kDay + 1110}));
  EXPECT_EQ(windows("08:00-18:00").size(), 7u);
  EXPECT_THAT(windows("sun 00:00-24:00"), ElementsAre(WeekWindow{6 * kDay, 7 * kDay}));
}

TEST(WeekText, CountsANightToTheDayItBeginsOn) {
  EXPECT_THAT(windows("mon 22:00-06:00"), ElementsAre(WeekWindow{1320, kDay + 360}));
  EXPECT_THAT(windows("sun 22:00-06:00"),
              ElementsAre(WeekWindow{6 * kDay + 1320, 7 * kDay}, WeekWindow{0, 360}));
}

TEST(WeekText, WrapsRangesOfDays) {
  EXPECT_THAT(windows("sun-mon 01:00-02:00"),
              ElementsAre(WeekWindow{6 * kDay + 60, 6 * kDay + 120}, WeekWindow{60, 120}));
}

TEST(WeekText, SaysWhatWouldBeRight) {
  for (const char* text :
       {"", "monday", "mon-", "mon ", "mon 8-18", "mon 08:00", "25:00-26:00", "08:60-09:00", "24:00-06:00",
        "08:00-08:00", "mon 08:00-24:01", "08:00 - 09:00", "mon  08:00-09:00"}) {
    const auto parsed = parse_week_windows(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().what, HasSubstr("\"mon-fri 08:00-18:00\"")) << text;
  }
}

}  // namespace
}  // namespace fareway
