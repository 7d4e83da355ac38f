#include "router/cli/idle_billing.hpp"

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using std::chrono::seconds;
using testing::FleetBuilder;
using testing::kNow;

TEST(IdleBilling, BillsEachIdleAmountOnceAndSkipsBusyReplicas) {
  FleetBuilder builder;
  const ReplicaIndex busy = builder.add({.name = "busy"});
  builder.add({.name = "idle"});
  const std::vector<PriceStep> dollar_a_second{{WallTime{}, {3600 * kNanoPerUsd}}};
  LiveFleet fleet{builder.fleet(), PriceBook{{dollar_a_second, dollar_a_second}}, kNow, WallTime{}};
  IdleBilling billing{2, WallTime{}};

  const RequestShape shape = testing::request(10, 10);
  const Flight flight = fleet.begin(shape, {.replica = busy}, kNow);
  fleet.tick(kNow + seconds{60}, WallTime{});
  const auto first = billing.rows(fleet, WallTime{seconds{60}});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].replica, "idle");
  EXPECT_EQ(first[0].idle, NanoUsd{60 * kNanoPerUsd});
  EXPECT_EQ(first[0].to, WallTime{seconds{60}});

  EXPECT_EQ(fleet.end(flight, shape, {}, true, kNow + seconds{70}), NanoUsd{70 * kNanoPerUsd});
  fleet.tick(kNow + seconds{75}, WallTime{});
  const auto second = billing.rows(fleet, WallTime{seconds{75}});
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[0].idle, NanoUsd{5 * kNanoPerUsd});
  EXPECT_EQ(second[1].idle, NanoUsd{15 * kNanoPerUsd}) << "what the first call billed is not billed again";
  EXPECT_EQ(second[1].from, WallTime{seconds{60}});
}

}  // namespace
}  // namespace fareway
