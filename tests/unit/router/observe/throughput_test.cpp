#include "router/observe/throughput.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

using std::chrono::seconds;

constexpr ReplicaIndex kReplica{0};

/// One replica whose engine reports its counter, a minute's worth of them if need be.
class Throughput : public ::testing::Test {
 protected:
  Throughput() { fleet_.replicas.resize(1); }

  void reads(seconds at, std::optional<std::int64_t> generated) {
    fleet_.replicas[0].reading.emplace().generated_tokens = generated;
    fleet_.replicas[0].read_at = start_ + at;
    window_.fleet_changed(fleet_);
  }
  std::optional<TokensPerSecond> rate(seconds at) const { return window_.rate(kReplica, start_ + at); }

 private:
  TimePoint start_{seconds{1000}};
  Fleet fleet_;
  ThroughputWindow window_{1};
};

TEST_F(Throughput, IsTokensOverSecondsBetweenReadings) {
  reads(seconds{0}, 1'000);
  reads(seconds{10}, 1'500);
  EXPECT_EQ(rate(seconds{10}), TokensPerSecond{50});
}

TEST_F(Throughput, OfAnIdleEngineIsKnownAndZero) {
  reads(seconds{0}, 7);
  reads(seconds{1}, 7);
  EXPECT_EQ(rate(seconds{1}), TokensPerSecond{0});
}

TEST_F(Throughput, IsUnknownWithFewerThanTwoReadingsOrWithoutACounter) {
  EXPECT_EQ(rate(seconds{0}), std::nullopt);
  reads(seconds{0}, 7);
  reads(seconds{1}, std::nullopt);
  EXPECT_EQ(rate(seconds{1}), std::nullopt);
}

TEST_F(Throughput, CountsAReadingOnceHoweverOftenItIsSeen) {
  reads(seconds{0}, 0);
  reads(seconds{0}, 0);
  EXPECT_EQ(rate(seconds{0}), std::nullopt);
}

TEST_F(Throughput, ForgetsWhatIsOlderThanAMinute) {
  reads(seconds{0}, 0);
  reads(seconds{30}, 30'000);  // 1,000 a second, then
  reads(seconds{60}, 30'300);  // 10 a second
  reads(seconds{90}, 30'600);
  EXPECT_EQ(rate(seconds{90}), TokensPerSecond{10});
}

TEST_F(Throughput, StartsOverWhenAnEngineRestartsAndItsCounterFalls) {
  reads(seconds{0}, 1'000'000);
  reads(seconds{1}, 40);
  EXPECT_EQ(rate(seconds{1}), std::nullopt);
  reads(seconds{2}, 140);
  EXPECT_EQ(rate(seconds{2}), TokensPerSecond{100});
}

TEST_F(Throughput, IsUnknownOnceTheEngineHasBeenSilentTooLong) {
  reads(seconds{0}, 0);
  reads(seconds{1}, 100);
  EXPECT_EQ(rate(seconds{16}), TokensPerSecond{100});
  EXPECT_EQ(rate(seconds{17}), std::nullopt);
}

}  // namespace
}  // namespace fareway
