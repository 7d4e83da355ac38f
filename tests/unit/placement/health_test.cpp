#include "placement/health.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

using std::chrono::seconds;

const TimePoint kStart{std::chrono::hours{1}};

ReplicaHealth serving() {
  ReplicaHealth health;
  health.probe_succeeded(kStart, kStart);
  return health;
}

TEST(ReplicaHealth, IsNotInRotationBeforeItsFirstProbe) {
  const ReplicaHealth health;
  EXPECT_FALSE(health.serving()) << "no data is not health";
  EXPECT_FALSE(health.reason().empty());
}

TEST(ReplicaHealth, LeavesAfterTwoFailedProbesInARowNotOne) {
  ReplicaHealth health = serving();
  health.probe_failed("timed out", kStart + seconds{1});
  EXPECT_TRUE(health.serving());
  health.probe_succeeded(kStart + seconds{2}, kStart + seconds{2});
  health.probe_failed("timed out", kStart + seconds{3});
  EXPECT_TRUE(health.serving()) << "the success in between starts the count anew";
  health.probe_failed("timed out", kStart + seconds{4});
  EXPECT_FALSE(health.serving());
  EXPECT_EQ(health.reason(), "timed out");
}

TEST(ReplicaHealth, LeavesAtOnceWhenAConnectionFailsAndReturnsWithALaterProbe) {
  ReplicaHealth health = serving();
  health.connection_failed(kStart + seconds{10});
  EXPECT_FALSE(health.serving());
  health.probe_succeeded(kStart + seconds{9}, kStart + seconds{11});
  EXPECT_FALSE(health.serving()) << "that probe was sent before the failure";
  health.probe_succeeded(kStart + seconds{12}, kStart + seconds{12});
  EXPECT_TRUE(health.serving());
}

TEST(ReplicaHealth, LeavesAfterFiveFailedAnswersInARowForABackOff) {
  ReplicaHealth health = serving();
  for (int i = 0; i < 4; ++i) health.answer_failed(kStart + seconds{1});
  health.answer_succeeded();
  for (int i = 0; i < 4; ++i) health.answer_failed(kStart + seconds{2});
  EXPECT_TRUE(health.serving());
  health.answer_failed(kStart + seconds{130});
  EXPECT_FALSE(health.serving());
  health.probe_succeeded(kStart + seconds{131}, kStart + seconds{131});
  EXPECT_FALSE(health.serving()) << "healthy probes do not shorten the back-off";
  health.probe_succeeded(kStart + seconds{136}, kStart + seconds{136});
  EXPECT_TRUE(health.serving());
}

TEST(ReplicaHealth, BacksOffLongerWhileAnswersKeepFailing) {
  ReplicaHealth health = serving();
  TimePoint now = kStart + seconds{1};
  const auto fail = [&] {
    for (int i = 0; i < 5; ++i) health.answer_failed(now);
  };
  const auto back_after = [&] {
    const TimePoint left = now;
    while (!health.serving()) now += seconds{1}, health.probe_succeeded(now, now);
    return now - left;
  };
  fail();
  const auto first = back_after();
  fail();
  EXPECT_GT(back_after(), first);
}

}  // namespace
}  // namespace fareway
