#include "placement/scaling/advisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using Kind = ScalingAdvice::Kind;
using std::chrono::seconds;
using testing::FleetBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNow;
using ::testing::SizeIs;

constexpr ModelIndex kModel = FleetBuilder::kModel;
constexpr ClassIndex kClass = FleetBuilder::kInteractive;

class Advice : public ::testing::Test {
 protected:
  Advice() {
    builder_.add({.name = "a", .usd_per_hour = 3.6});
    builder_.add({.name = "b", .usd_per_hour = 7.2});
  }
  Fleet& fleet() { return builder_.fleet(); }
  /// So many seconds in which requests are placed and missed for that many dollars a second.
  void passes(int time, double misses_per_second) {
    for (int i = 0; i < time; ++i) {
      advisor_->placed(kModel, kClass, {.gpu = {}, .own_miss = {misses_per_second}, .others_miss = {}});
      advisor_->missed(kModel, {misses_per_second});
      advisor_->review(fleet(), now_ += seconds{1});
    }
  }
  void starts() { advisor_.emplace(fleet()); }

  FleetBuilder builder_;
  std::optional<ScalingAdvisor> advisor_;
  TimePoint now_{kNow};
};

TEST_F(Advice, WhereHardlyAnybodyMissesTheReplicaThatDoesLeastForItsDollarsMayGo) {
  starts();
  passes(100, 0);
  EXPECT_THAT(advisor_->standing(), IsEmpty()) << "not before it has been calm for two minutes";
  passes(60, 0);
  ASSERT_THAT(advisor_->standing(), SizeIs(1));
  const FleetAdvice advice = advisor_->standing().front();
  EXPECT_EQ(advice.kind, Kind::kLetGo);
  EXPECT_EQ(advice.replica, ReplicaIndex{1});
  EXPECT_NEAR(advice.gain_per_second.value, 0.002, 1e-12);
  EXPECT_EQ(advice_text(advice, fleet()),
            "let b (pool b) go: m loses $0.00 an hour in misses, and the replica costs $7.20");
}

TEST_F(Advice, WhereMissesCostMoreThanAReplicaOneMoreIsAdvised) {
  starts();
  passes(120, 0.01);  // $36 an hour
  ASSERT_THAT(advisor_->standing(), SizeIs(1));
  const FleetAdvice advice = advisor_->standing().front();
  EXPECT_EQ(advice.kind, Kind::kTakeIn);
  EXPECT_EQ(advice.pool, PoolIndex{0}) << "equally fast for half the dollars";
  EXPECT_EQ(advice.replica, std::nullopt) << "all there are, are in";
  EXPECT_THAT(advice_text(advice, fleet()), HasSubstr("take one more replica of pool a in"));
}

TEST_F(Advice, WhatIsDrainedIsTakenInBeforeAnotherIsBought) {
  fleet().replicas[0].draining = true;
  starts();
  passes(120, 0.01);
  ASSERT_THAT(advisor_->standing(), SizeIs(1));
  EXPECT_EQ(advisor_->standing().front().replica, ReplicaIndex{0});
  fleet().replicas[0].draining = false;
  advisor_->review(fleet(), now_ += seconds{1});
  EXPECT_THAT(advisor_->standing(), IsEmpty()) << "it was followed";
}

TEST_F(Advice, StandsUntilItIsNoLongerRight) {
  starts();
  passes(160, 0);
  ASSERT_THAT(advisor_->standing(), SizeIs(1));
  const TimePoint since = advisor_->standing().front().since;
  passes(500, 0);
  ASSERT_THAT(advisor_->standing(), SizeIs(1));
  EXPECT_EQ(advisor_->standing().front().since, since);
  passes(5, 0.05);
  for (const FleetAdvice& advice : advisor_->standing()) EXPECT_NE(advice.kind, Kind::kLetGo);
}

TEST_F(Advice, TheLastReplicaOfAModelNeverGoes) {
  fleet().replicas[1].draining = true;
  starts();
  passes(2000, 0);
  EXPECT_THAT(advisor_->standing(), IsEmpty());
}

TEST_F(Advice, ModelsAreJudgedByTheirOwnMisses) {
  fleet().models.push_back({.name = "nobody", .context_limit = {1000}});
  starts();
  passes(120, 0.01);
  EXPECT_GT(advisor_->misses_per_second(kModel).value, 0);
  EXPECT_EQ(advisor_->misses_per_second({1}), Usd{0});
  EXPECT_THAT(advisor_->standing(), SizeIs(1));
}

}  // namespace
}  // namespace fareway
