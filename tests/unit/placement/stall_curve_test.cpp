#include "placement/score/stall_curve.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "tests/support/exact_score.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;
using testing::request;

TEST(StallCurve, IsExactAtItsPointsAndStraightBetween) {
  StallCurve curve;
  for (std::size_t k = 0; k < StallCurve::kPoints; ++k) curve.usd[k] = static_cast<float>(k * k);
  for (std::size_t k = 0; k + 1 < StallCurve::kPoints; ++k) {
    EXPECT_FLOAT_EQ(curve.at(stall_at(k)), curve.usd[k]) << k;
    const float middle = (stall_at(k) + stall_at(k + 1)) / 2;
    EXPECT_NEAR(curve.at(middle), (curve.usd[k] + curve.usd[k + 1]) / 2, 1e-3) << k;
  }
}

TEST(StallCurve, BeginsAtNoStallAndIsLevelBeyondItsLastPoint) {
  EXPECT_EQ(stall_at(0), 0);
  EXPECT_NEAR(stall_at(StallCurve::kPoints - 1), 256, 0.1);
  StallCurve curve;
  curve.usd.back() = 8;
  EXPECT_NEAR(curve.at(1e9F), 8, 1e-3);
  curve.usd.front() = 5;
  EXPECT_EQ(curve.at(0), 5);
  EXPECT_EQ(curve.at(-1), 5);
}

TEST(StallCurve, IsReadWithinItsPointsWhateverIsAsked) {
  StallCurve curve;
  curve.usd.fill(2);
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    EXPECT_EQ(curve.at(odd), 2);
}

class CurveOfOne : public ::testing::Test {
 protected:
  FleetBuilder builder;
  ReplicaIndex replica = builder.add({.name = "a"});

  InFlight& only() { return builder.fleet().replicas[0].in_flight.front(); }
  StallCurve curve() {
    const Fleet& fleet = builder.fleet();
    return stall_curve(only(), fleet[only().service_class], {}, Seconds{0.010}, kNow);
  }
  double exact(double stall) {
    return testing::exact_others_miss(request(1, 1), builder.fleet(), builder.fleet()[replica],
                                      Seconds{stall}, Seconds{0}, kNow)
        .value;
  }
};

TEST_F(CurveOfOne, IsTheValueOfAMissTimesWhatTheStallAddsToItsProbability) {
  builder.decoding(replica, 1, {50}, 100);
  // Half a second decoded, half to come: a second more makes 20 ms a token, which is the target.
  // P = 1/2 then, and 1 - Φ(ln 2/0.35) = 0.0238 as it is.
  EXPECT_NEAR(curve().at(1.0F), 0.5 - 0.0238, 0.02);
  for (std::size_t k = 0; k < StallCurve::kPoints; ++k)
    EXPECT_NEAR(curve().usd[k], exact(stall_at(k)), 2e-6) << stall_at(k);
}

TEST_F(CurveOfOne, MeasuresADeadlineFromArrival) {
  builder.decoding(replica, 1, {50}, 100);
  only().service_class = FleetBuilder::kBatch;
  only().arrived = kNow - std::chrono::seconds{900};
  only().first_token = kNow - std::chrono::seconds{1};
  for (std::size_t k = 0; k < StallCurve::kPoints; ++k)
    EXPECT_NEAR(curve().usd[k], exact(stall_at(k)), 1e-6) << stall_at(k);
}

TEST_F(CurveOfOne, CountsARequestThatIsLateAlreadyForLittle) {
  builder.decoding(replica, 1, {50}, 100);
  const float in_time = curve().at(10);
  only().first_token.reset();
  only().predicted_ttft = Seconds{3};  // against a target of 1 s
  EXPECT_LT(curve().at(10), 0.01F * in_time) << "it misses anyway";
}

}  // namespace
}  // namespace fareway
