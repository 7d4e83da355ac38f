#include "placement/admission/cheaper_hour.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using std::chrono::seconds;
using testing::FleetBuilder;
using testing::kNow;
using testing::request;

constexpr WallTime kWallNow{std::chrono::hours{24}};

/// One pool at $3.60 an hour; from `cheaper_in` on at a tenth of it. The batch class's deadline is 1,000 s.
std::optional<Seconds> held(seconds cheaper_in, const RequestShape& shape,
                            CapacityKind capacity = CapacityKind::kOnDemand) {
  FleetBuilder builder;
  builder.add({.name = "a", .usd_per_hour = 3.6, .capacity = capacity});
  const std::vector<PriceStep> steps{{WallTime{}, {3'600'000'000}}, {kWallNow + cheaper_in, {360'000'000}}};
  const PriceBook prices(std::vector<std::vector<PriceStep>>(1, steps));
  const Decision decision = decide(shape, builder.fleet(), {}, kNow);
  return hold_for_cheaper_hour(decision, shape, builder.fleet(), prices, kWallNow);
}

TEST(CheaperHour, WhatOnlyHasADeadlineIsHeldUntilThePriceFalls) {
  const auto time = held(seconds{600}, request(100, 10, FleetBuilder::kBatch));
  ASSERT_TRUE(time);
  EXPECT_NEAR(time->count(), 600, 1e-6);
}

TEST(CheaperHour, NothingIsHeldPastTheTimeInWhichItCanStillEnd) {
  // 10.1 s alone may become 22.9 s: e^(2.33 · 0.35) = 2.26 times as long.
  EXPECT_TRUE(held(seconds{975}, request(100, 1000, FleetBuilder::kBatch)));
  EXPECT_FALSE(held(seconds{980}, request(100, 1000, FleetBuilder::kBatch)));
}

TEST(CheaperHour, TimeThatWasWaitedCountsAgainstTheDeadline) {
  RequestShape shape = request(100, 10, FleetBuilder::kBatch);
  shape.waited = Seconds{500};
  EXPECT_FALSE(held(seconds{600}, shape));
}

TEST(CheaperHour, WhoeverLooksAtTheFirstTokenIsNeverHeld) {
  EXPECT_FALSE(held(seconds{1}, request(100, 10)));
}

TEST(CheaperHour, NothingIsHeldWhereItSavesNothing) {
  EXPECT_FALSE(held(seconds{-600}, request(100, 10, FleetBuilder::kBatch))) << "the price has fallen already";
  EXPECT_FALSE(held(seconds{600}, request(100, 10, FleetBuilder::kBatch), CapacityKind::kReserved));
}

TEST(CheaperHour, WithoutAReplicaThereIsNothingToPlan) {
  FleetBuilder empty;
  const PriceBook prices(std::vector<std::vector<PriceStep>>{});
  EXPECT_FALSE(
      hold_for_cheaper_hour({}, request(1, 1, FleetBuilder::kBatch), empty.fleet(), prices, kWallNow));
}

}  // namespace
}  // namespace fareway
