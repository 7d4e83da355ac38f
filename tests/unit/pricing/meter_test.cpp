#include "pricing/meter.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace fareway {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr NanoUsdPerHour kSixteenDollars{16 * kNanoPerUsd};
const TimePoint kStart{hours{1}};

TEST(Meter, CountsTimeWithoutRequestsAsIdle) {
  Meter meter{kSixteenDollars, kStart};
  meter.advance(kStart + hours{1});
  EXPECT_EQ(meter.idle(), NanoUsd{16 * kNanoPerUsd});
  EXPECT_EQ(meter.charged(), NanoUsd{0});
}

TEST(Meter, ChargesALoneRequestTheWholeRate) {
  Meter meter{kSixteenDollars, kStart};
  const auto ticket = meter.begin(5, kStart);
  EXPECT_EQ(meter.end(ticket, kStart + hours{1}), NanoUsd{16 * kNanoPerUsd});
}

TEST(Meter, SplitsTheRateByWeightWhileRequestsOverlap) {
  Meter meter{{3600 * kNanoPerUsd}, kStart};  // a dollar a second
  const auto light = meter.begin(1, kStart);
  const auto heavy = meter.begin(3, kStart);
  // One second together: 0.25 and 0.75 dollars; then the light one stays alone for a second.
  EXPECT_EQ(meter.end(heavy, kStart + seconds{1}), NanoUsd{750'000'000});
  EXPECT_EQ(meter.end(light, kStart + seconds{2}), NanoUsd{1'250'000'000});
}

TEST(Meter, PaysTimeBeforeAPriceChangeAtTheOldPrice) {
  Meter meter{{3600 * kNanoPerUsd}, kStart};
  const auto ticket = meter.begin(1, kStart);
  meter.set_rate({7200 * kNanoPerUsd}, kStart + seconds{1});
  EXPECT_EQ(meter.end(ticket, kStart + seconds{2}), NanoUsd{3 * kNanoPerUsd});
}

TEST(Meter, CarriesFractionsOfANanodollarOverManySmallSteps) {
  Meter meter{{1'000'000'007}, kStart};
  for (int i = 1; i <= 3'600'000; ++i) meter.advance(kStart + microseconds{1000} * i);
  EXPECT_EQ(meter.idle(), NanoUsd{1'000'000'007}) << "an hour in milliseconds costs an hour";
}

TEST(Meter, IgnoresTimesThatGoBackwards) {
  Meter meter{kSixteenDollars, kStart};
  const auto ticket = meter.begin(1, kStart + seconds{10});
  EXPECT_EQ(meter.end(ticket, kStart + seconds{5}), NanoUsd{0});
  meter.advance(kStart + seconds{10});
  EXPECT_EQ(meter.total(), meter.idle());
}

/// The law of the design, over random lives of requests and price changes: charges + idle = price × hours.
class MeterConservation : public testing::TestWithParam<std::uint32_t> {};

TEST_P(MeterConservation, ChargesAndIdleAreThePriceTimesTheHours) {
  std::mt19937_64 random{GetParam()};
  NanoUsdPerHour rate{static_cast<std::int64_t>(random() % 200'000'000'000)};
  Meter meter{rate, kStart};
  TimePoint now = kStart;
  std::vector<Meter::Ticket> active;
  NanoUsd charges;
  __extension__ unsigned __int128 owed = 0;  // rate × nanoseconds, exactly
  for (int event = 0; event < 5000; ++event) {
    const auto step = std::chrono::nanoseconds{static_cast<std::int64_t>(random() % 2'000'000'000)};
    owed += static_cast<Uint128>(rate.value) * static_cast<Uint128>(step.count());
    now += step;
    switch (random() % 5) {
      case 0:
      case 1:
        active.push_back(meter.begin(static_cast<Meter::Weight>(random() % 1'000'000), now));
        break;
      case 2:
      case 3:
        if (!active.empty()) {
          std::swap(active[random() % active.size()], active.back());
          charges += meter.end(active.back(), now);
          active.pop_back();
        }
        break;
      default:
        rate = {static_cast<std::int64_t>(random() % 200'000'000'000)};
        meter.set_rate(rate, now);
    }
    meter.advance(now);
    ASSERT_EQ(meter.charged(), charges);
    ASSERT_EQ(meter.total().value, static_cast<std::int64_t>(owed / 3'600'000'000'000U)) << "event " << event;
    ASSERT_GE(meter.unsettled(), NanoUsd{0});
    if (active.empty()) {
      ASSERT_EQ(meter.unsettled(), NanoUsd{0});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MeterConservation, testing::Range(1U, 9U));

}  // namespace
}  // namespace fareway
