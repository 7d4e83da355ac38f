#include "router/cli/time_text.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;

const WallTime kNow{seconds{1'764'547'200}};  // 2025-12-01T00:00:00Z

TEST(ParseInstant, ReadsTimesAgo) {
  EXPECT_EQ(parse_instant("90s", kNow), kNow - seconds{90});
  EXPECT_EQ(parse_instant("24h", kNow), kNow - hours{24});
  EXPECT_EQ(parse_instant("7d", kNow), kNow - days{7});
  EXPECT_EQ(parse_instant("30min", kNow), kNow - std::chrono::minutes{30});
}

TEST(ParseInstant, ReadsUtcDatesAndInstants) {
  EXPECT_EQ(parse_instant("2025-12-01", {}), kNow);
  EXPECT_EQ(parse_instant("2025-11-30T23:59:59Z", {}), kNow - seconds{1});
  EXPECT_EQ(parse_instant("2024-02-29", {}), WallTime{seconds{1'709'164'800}});
}

TEST(ParseInstant, RefusesEverythingElse) {
  for (const char* text : {"", "h", "-1h", "1w", "1 h", "9999999999999h", "2025-13-01", "2025-02-30",
                           "2025-1-1", "2025-12-01T", "2025-12-01T24:00:00Z", "2025-12-01T00:00:00",
                           "2025-12-01T00:00:00+01:00", "2025-12-01x", "yesterday"})
    EXPECT_FALSE(parse_instant(text, kNow)) << text;
}

}  // namespace
}  // namespace fareway
