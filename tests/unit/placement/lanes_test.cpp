#include "placement/score/lanes.hpp"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace fareway {
namespace {

TEST(LaneExp, IsRightToFourMillionths) {
  for (double x = -87; x <= 87; x += 0.0137) {
    const auto at = static_cast<float>(x);
    EXPECT_NEAR(lane_exp(at) / std::exp(static_cast<double>(at)), 1, 4e-6) << at;
  }
}

TEST(LaneExp, StaysFiniteBeyondItsRange) {
  EXPECT_EQ(lane_exp(-1e30F), lane_exp(-87));
  EXPECT_EQ(lane_exp(1e30F), lane_exp(87));
  EXPECT_TRUE(std::isfinite(lane_exp(87)));
}

TEST(LaneLog, IsRightToTwoTenMillionthsOfItsSize) {
  for (double power = -29; power <= 29; power += 0.00371) {
    const auto at = static_cast<float>(std::pow(10, power));
    const double exact = std::log(static_cast<double>(at));
    EXPECT_NEAR(lane_log(at), exact, 2e-7 * (1 + std::abs(exact))) << at;
  }
}

TEST(LaneLog, TakesNothingForTheLeastItKnows) {
  EXPECT_EQ(lane_log(0), lane_log(1e-30F));
  EXPECT_EQ(lane_log(-3), lane_log(1e-30F));
}

TEST(LaneUpperTail, KeepsTheDigitsOfSmallProbabilities) {
  for (double z = 0; z <= 12; z += 0.00173) {
    const auto at = static_cast<float>(z);
    const double exact = 0.5 * std::erfc(static_cast<double>(at) / std::numbers::sqrt2);
    EXPECT_NEAR(lane_upper_tail(at) / exact, 1, 1e-5) << at;
    EXPECT_NEAR(lane_upper_tail(-at), 1 - exact, 1e-6) << at;
  }
}

TEST(LaneUpperTail, IsLevelBeyondTwelve) {
  EXPECT_EQ(lane_upper_tail(1e9F), lane_upper_tail(12));
  EXPECT_EQ(lane_upper_tail(-1e9F), 1);
}

}  // namespace
}  // namespace fareway
