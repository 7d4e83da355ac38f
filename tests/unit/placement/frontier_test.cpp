#include "placement/speed/frontier.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

TEST(Frontier, KeepsWhatNothingBeatsInBoth) {
  const Frontier frontier{{{20, 100}, {40, 80}, {30, 70}, {40, 60}, {60, 10}}};
  ASSERT_EQ(frontier.points().size(), 3);
  EXPECT_EQ(frontier.points()[1].interactivity, 40);
  EXPECT_EQ(frontier.points()[1].throughput, 80);
  EXPECT_EQ(frontier.fastest(), 60);
}

TEST(Frontier, LiesOnTheLineBetweenPointsAndEndsWithTheFastest) {
  const Frontier frontier{{{20, 100}, {40, 80}}};
  EXPECT_EQ(frontier.at(30)->throughput, 90);
  EXPECT_EQ(frontier.at(40)->throughput, 80);
  EXPECT_EQ(frontier.at(5)->throughput, 100) << "slower users are served as fast as the slowest point";
  EXPECT_FALSE(frontier.at(40.1));
  EXPECT_FALSE(Frontier{{}}.at(1));
}

TEST(Frontier, IsExtrapolatedWhereverAPointThatItRestsOnIs) {
  const Frontier frontier{{{20, 100, true}, {40, 80}, {60, 10}}};
  EXPECT_TRUE(frontier.at(20)->extrapolated);
  EXPECT_TRUE(frontier.at(39)->extrapolated);
  EXPECT_FALSE(frontier.at(40)->extrapolated);
  EXPECT_FALSE(frontier.at(41)->extrapolated);
}

}  // namespace
}  // namespace fareway
