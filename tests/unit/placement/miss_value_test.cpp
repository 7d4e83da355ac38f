#include "placement/miss_value.hpp"

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;

TEST(MissValue, ComparesTheTypicalRequestOverTheModelsPools) {
  FleetBuilder fleet;
  // 1,000 prompt tokens of 1 ms are a second; $3.60 and $36 an hour make $0.001 and $0.01
  fleet.add({.name = "cheap", .usd_per_hour = 3.6});
  fleet.add({.name = "dear", .usd_per_hour = 36});
  const auto spread = widest_price_spread(fleet.fleet());
  ASSERT_TRUE(spread);
  EXPECT_NEAR(spread->gap.value, 0.009, 1e-12);
  EXPECT_EQ(spread->cheapest, PoolIndex{0});
  EXPECT_EQ(spread->dearest, PoolIndex{1});
}

TEST(MissValue, TakesReservedCapacityAsFree) {
  FleetBuilder fleet;
  fleet.add({.name = "cheap", .usd_per_hour = 3.6});
  fleet.add({.name = "paid", .usd_per_hour = 36, .capacity = CapacityKind::kReserved});
  EXPECT_NEAR(widest_price_spread(fleet.fleet())->gap.value, 0.001, 1e-12);
}

TEST(MissValue, HasNoSpreadInOnePool) {
  FleetBuilder fleet;
  fleet.add({.name = "only"});
  EXPECT_EQ(widest_price_spread(fleet.fleet()), std::nullopt);
}

TEST(MissValue, MustExceedTheGapOverTheMissesLeft) {
  EXPECT_NEAR(least_miss_value({0.0012}, 0.99).value, 0.12, 1e-12);
}

}  // namespace
}  // namespace fareway
