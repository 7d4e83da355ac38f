#include "placement/slow_downs.hpp"

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;

/// Replicas of one deployment.
class SlowDowns : public ::testing::Test {
 protected:
  ReplicaIndex add() {
    const ReplicaIndex index = builder.add({.name = "r" + std::to_string(builder.fleet().replicas.size())});
    builder.fleet().replicas[index.value].deployment = {0};
    return index;
  }
  void decodes(ReplicaIndex index, double times, int observations = 20) {
    Replica& replica = builder.fleet().replicas[index.value];
    for (int i = 0; i < observations; ++i) {
      const double wobble = i % 2 == 0 ? 1.05 : 0.95;
      replica.correction.saw_step(builder.fleet().deployments[0].speed, 4, 1000,
                                  Seconds{0.010 * times * wobble});
    }
  }
  std::vector<SlowDown> found() { return slow_downs(builder.fleet()); }

  FleetBuilder builder;
};

TEST_F(SlowDowns, FindTheReplicaThatIsSlowerThanItsSiblings) {
  const ReplicaIndex sick = add();
  decodes(sick, 3);
  for (int i = 0; i < 3; ++i) decodes(add(), 1.1);
  const auto slow = found();
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].replica, sick);
  EXPECT_EQ(slow[0].phase, WorkPhase::kDecode);
  EXPECT_NEAR(*slow[0].of_siblings, 2.7, 0.15);
  EXPECT_NEAR(slow[0].of_profile, 3, 0.15);
  EXPECT_EQ(slow[0].siblings, 3u);
}

TEST_F(SlowDowns, CompareALoneReplicaWithItsProfile) {
  decodes(add(), 1.6);
  ASSERT_EQ(found().size(), 1u);
  EXPECT_EQ(found()[0].of_siblings, std::nullopt);
}

TEST_F(SlowDowns, BlameTheProfileWhenAllAreABitSlow) {
  for (int i = 0; i < 3; ++i) decodes(add(), 1.5);
  EXPECT_TRUE(found().empty());
}

TEST_F(SlowDowns, SayNothingOnThinEvidence) {
  decodes(add(), 3, 3);
  EXPECT_TRUE(found().empty());
}

TEST_F(SlowDowns, SeePrefillApartFromDecode) {
  const ReplicaIndex sick = add();
  const SpeedProfile& speed = builder.fleet().deployments[0].speed;
  for (int i = 0; i < 10; ++i)
    builder.fleet().replicas[sick.value].correction.saw_prefill(speed, 1000, 0, Seconds{2.5});
  ASSERT_EQ(found().size(), 1u);
  EXPECT_EQ(found()[0].phase, WorkPhase::kPrefill);
  EXPECT_NEAR(found()[0].of_profile, 2.5, 0.2);
}

}  // namespace
}  // namespace fareway
