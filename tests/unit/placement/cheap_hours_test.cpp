#include "placement/cheap_hours.hpp"

#include <random>

#include <gtest/gtest.h>

namespace fareway {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;

constexpr WallTime kNow{std::chrono::hours{1000}};

NanoUsdPerHour dollars(double amount) {
  return {static_cast<std::int64_t>(amount * 1e9)};
}

/// $4 now, $1 in six hours, $3 in eight.
PriceBook night() {
  return PriceBook({{{WallTime{}, dollars(4)}, {kNow + 6h, dollars(1)}, {kNow + 8h, dollars(3)}}});
}

ServingOffer job(Seconds stay) {
  return {.pool = PoolIndex{0}, .devices = 8, .releasable = true, .added_work = 36s, .stay = stay};
}

TEST(CheapHours, WaitForTheCheapStepWhenTheDeadlineAllows) {
  const ServingOffer offer = job(60s);
  const PlannedStart plan = cheapest_start({&offer, 1}, night(), kNow, kNow + 12h, 0.3);
  EXPECT_EQ(plan.start, kNow + 6h);
  EXPECT_NEAR(plan.dollars_now.value, 0.32, 1e-12) << "8 devices x $4 x 36 s / 3600 s";
  EXPECT_NEAR(plan.dollars.value, 0.08, 1e-12);
}

TEST(CheapHours, StartAtOnceWhenThePredictionMayBeTooShortForTheDeadline) {
  const ServingOffer offer = job(Seconds{1h});
  EXPECT_EQ(cheapest_start({&offer, 1}, night(), kNow, kNow + 7h, 0.0).start, kNow + 6h);
  EXPECT_EQ(cheapest_start({&offer, 1}, night(), kNow, kNow + 7h, 0.3).start, kNow)
      << "an hour may become two: e^(2.33 x 0.3) = 2.01";
}

TEST(CheapHours, CountDearHoursTheStayReachesInto) {
  const ServingOffer offer = job(Seconds{4h});
  const PlannedStart plan = cheapest_start({&offer, 1}, night(), kNow, kNow + 24h, 0.0);
  EXPECT_EQ(plan.start, kNow + 6h);
  EXPECT_NEAR(plan.dollars.value, 0.08 * 2, 1e-12) << "two hours at $1 and two at $3: $2 on average";
}

TEST(CheapHours, NeverWaitForReservedCapacity) {
  const ServingOffer reserved{.pool = PoolIndex{0}, .releasable = false, .added_work = 36s, .stay = 60s};
  const PlannedStart plan = cheapest_start({&reserved, 1}, night(), kNow, kNow + 12h, 0.1);
  EXPECT_EQ(plan.start, kNow);
  EXPECT_EQ(plan.dollars, Usd{});
}

TEST(CheapHours, StartAtOnceWithoutOffersPastTheDeadlineAndWhenPricesOnlyRise) {
  EXPECT_EQ(cheapest_start({}, night(), kNow, kNow + 12h, 0.1).start, kNow);
  const ServingOffer offer = job(60s);
  EXPECT_EQ(cheapest_start({&offer, 1}, night(), kNow, kNow - 1h, 0.1).start, kNow);
  const PriceBook rising({{{WallTime{}, dollars(1)}, {kNow + 1h, dollars(2)}}});
  EXPECT_EQ(cheapest_start({&offer, 1}, rising, kNow, kNow + 12h, 0.1).start, kNow);
}

TEST(CheapHours, TakeTheEarliestOfEqualSteps) {
  const PriceBook twice({{{WallTime{}, dollars(4)},
                          {kNow + 2h, dollars(1)},
                          {kNow + 3h, dollars(4)},
                          {kNow + 4h, dollars(1)}}});
  const ServingOffer offer = job(60s);
  EXPECT_EQ(cheapest_start({&offer, 1}, twice, kNow, kNow + 12h, 0.1).start, kNow + 2h);
}

TEST(CheapHours, NeverCostMoreThanNowNorMissTheDeadline) {
  std::mt19937_64 random(11);
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int round = 0; round < 500; ++round) {
    std::vector<std::vector<PriceStep>> schedules(2);
    for (auto& steps : schedules) {
      WallTime at{};
      for (int i = 0; i <= draw(5); ++i) {
        steps.push_back({at, dollars(1 + draw(9))});
        at = std::max(at, kNow) + std::chrono::minutes{1 + draw(300)};
      }
    }
    const std::vector<ServingOffer> offers{
        {.pool = PoolIndex{0}, .devices = 1, .added_work = 5s, .stay = Seconds(10 + draw(20'000))},
        {.pool = PoolIndex{1}, .devices = 4, .added_work = 2s, .stay = Seconds(10 + draw(20'000))}};
    const WallTime deadline = kNow + std::chrono::minutes{draw(1200)};
    const PlannedStart plan = cheapest_start(offers, PriceBook(schedules), kNow, deadline, 0.0);
    EXPECT_LE(plan.dollars, plan.dollars_now) << round;
    EXPECT_TRUE(plan.start == kNow || plan.start + std::chrono::duration_cast<WallTime::duration>(
                                                       std::min(offers[0].stay, offers[1].stay)) <=
                                          deadline)
        << round;
  }
}

}  // namespace
}  // namespace fareway
