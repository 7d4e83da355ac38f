#include "placement/suffering.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "placement/candidate_table.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;

void expect_equal(const StallCurve& kept, const StallCurve& anew, float tolerance) {
  for (std::size_t k = 0; k < StallCurve::kPoints; ++k) EXPECT_NEAR(kept.usd[k], anew.usd[k], tolerance) << k;
}

class SufferingTest : public ::testing::Test {
 protected:
  FleetBuilder builder;
  ReplicaIndex index = builder.add({.name = "a"});
  Suffering suffering;

  Replica& replica() { return builder.fleet().replicas[0]; }
  StallCurve anew(double pace) { return stall_curve_of(builder.fleet(), replica(), Seconds{pace}, kNow); }
  void add(std::int64_t generated, double pace) {
    builder.decoding(index, 1, {generated}, 200);
    suffering.added(builder.fleet(), replica(), Seconds{pace}, kNow);
  }
  void remove(std::size_t position, double pace) {
    replica().in_flight[position] = replica().in_flight.back();
    replica().in_flight.pop_back();
    suffering.removed(builder.fleet(), replica(), position, Seconds{pace}, kNow);
  }
};

TEST_F(SufferingTest, IsTheSumOverThoseWhoAreThere) {
  std::mt19937_64 random{1};
  for (int i = 0; i < 2000; ++i) {
    if (replica().in_flight.size() < 5 || random() % 2 == 0) {
      add(static_cast<std::int64_t>(random() % 300), 0.010);
    } else {
      remove(random() % replica().in_flight.size(), 0.010);
    }
  }
  expect_equal(suffering.sum(), anew(0.010), 1e-3F);
}

TEST_F(SufferingTest, IsNothingWhenEverybodyHasLeft) {
  for (int i = 0; i < 20; ++i) add(10 * i, 0.010);
  while (!replica().in_flight.empty()) remove(0, 0.010);
  expect_equal(suffering.sum(), {}, 0);
}

TEST_F(SufferingTest, ARequestThatMovesOnSuffersAsItNowIs) {
  add(10, 0.010);
  add(20, 0.010);
  replica().in_flight.front().generated = {150};
  suffering.changed(builder.fleet(), replica(), 0, Seconds{0.010}, kNow);
  expect_equal(suffering.sum(), anew(0.010), 1e-6F);
}

TEST_F(SufferingTest, AllAreWorkedOutAnewWhenThePaceMoves) {
  for (int i = 0; i < 10; ++i) add(100, 0.010);
  add(100, 0.0104);
  EXPECT_GT(std::abs(suffering.sum().at(1) - anew(0.0104).at(1)), 1e-4F) << "4 % is not worth the work";
  add(100, 0.0106);
  expect_equal(suffering.sum(), anew(0.0106), 1e-6F);
}

}  // namespace
}  // namespace fareway
