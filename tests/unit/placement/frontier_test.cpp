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
  EXPECT_EQ(frontier.throughput_at(30), 90);
  EXPECT_EQ(frontier.throughput_at(40), 80);
  EXPECT_EQ(frontier.throughput_at(5), 100) << "slower users are served as fast as the slowest point";
  EXPECT_EQ(frontier.throughput_at(40.1), std::nullopt);
  EXPECT_EQ(Frontier{{}}.throughput_at(1), std::nullopt);
}

}  // namespace
}  // namespace fareway
