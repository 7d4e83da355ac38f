#include "placement/admission/admission_queue.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FleetBuilder;
using ::testing::IsEmpty;
using testing::kNow;

constexpr ClassIndex kDear{0};
constexpr ClassIndex kCheap{1};

/// Two models, the two classes of the fleet's builder; no replica is needed.
Fleet two_models() {
  FleetBuilder builder;
  builder.fleet().models.push_back({.name = "other", .context_limit = {1000}});
  return builder.fleet();
}

class AdmissionQueueTest : public ::testing::Test {
 protected:
  /// A request with `left` until it is too late, a minute to wait, a kilobyte and a cent of work.
  Waiting request(ClassIndex service_class = kDear, std::uint32_t tenant = 0, Seconds left = Seconds{5}) {
    return {.id = next_++,
            .model = {0},
            .service_class = service_class,
            .tenant = {tenant},
            .bytes = 1000,
            .work = {0.01},
            .arrived = kNow,
            .in_time_until = kNow + std::chrono::duration_cast<TimePoint::duration>(left),
            .gives_up = kNow + seconds{60},
            .unavoidable = {}};
  }
  std::uint64_t waits(const Waiting& one) {
    EXPECT_FALSE(queue_.offer(one, kNow).turned_away);
    return one.id;
  }
  /// Everybody who is placed, in order, where `fits` says who can be.
  template <class Fits>
  std::vector<std::uint64_t> served(Fits fits, TimePoint now = kNow, ModelIndex model = {0}) {
    std::vector<std::uint64_t> order;
    queue_.serve(model, now, [&](const Waiting& one) {
      if (!fits(one)) return false;
      order.push_back(one.id);
      return true;
    });
    return order;
  }
  std::vector<std::uint64_t> served(TimePoint now = kNow) {
    return served([](const Waiting&) { return true; }, now);
  }

  Fleet fleet_{two_models()};
  AdmissionQueue queue_{fleet_, {.max_requests = 100, .max_bytes = 100'000, .max_wait = Seconds{60}}};
  std::uint64_t next_{1};
};

TEST_F(AdmissionQueueTest, ServesTheDearestClassFirstAndWithinATenantWhoseTimeRunsOutFirst) {
  const auto cheap = waits(request(kCheap, 0, Seconds{1}));
  const auto later = waits(request(kDear, 0, Seconds{9}));
  const auto sooner = waits(request(kDear, 0, Seconds{4}));
  EXPECT_THAT(served(), ElementsAre(sooner, later, cheap));
  EXPECT_EQ(queue_.size(), 0U);
  EXPECT_EQ(queue_.bytes(), 0U);
}

TEST_F(AdmissionQueueTest, OneThatDoesNotFitKeepsNobodyBehindItWaiting) {
  const auto huge = waits(request(kDear, 0, Seconds{1}));
  const auto small = waits(request(kDear, 0, Seconds{2}));
  const auto other_tenant = waits(request(kDear, 1, Seconds{3}));
  EXPECT_THAT(served([&](const Waiting& one) { return one.id != huge; }), ElementsAre(small, other_tenant));
  EXPECT_EQ(queue_.size(), 1U);
}

TEST_F(AdmissionQueueTest, ModelsDoNotWaitForEachOther) {
  Waiting other = request();
  other.model = {1};
  waits(request());
  waits(other);
  EXPECT_THAT(served([](const Waiting&) { return true; }, kNow, {1}), ElementsAre(other.id));
  EXPECT_FALSE(queue_.empty({0}));
  EXPECT_TRUE(queue_.empty({1}));
}

TEST_F(AdmissionQueueTest, TenantsShareByDollarsOfWorkAndNotByRequests) {
  // Tenant 0 asks for little often, tenant 1 for ten times as much.
  for (int i = 0; i < 40; ++i) waits(request(kDear, 0));
  for (int i = 0; i < 10; ++i) {
    Waiting large = request(kDear, 1);
    large.work = {0.1};
    waits(large);
  }
  double had[2] = {0, 0};
  int places = 22;
  queue_.serve({0}, kNow, [&](const Waiting& one) {
    if (places == 0) return false;
    --places;
    had[one.tenant.value] += one.work.value;
    return true;
  });
  EXPECT_NEAR(had[0], had[1], 0.11) << "equal but for one large request";
}

TEST_F(AdmissionQueueTest, ATenantThatFloodsDelaysAnotherByOneRequestEachOnly) {
  for (int i = 0; i < 50; ++i) waits(request(kDear, 0));
  const auto first = waits(request(kDear, 1));
  const auto second = waits(request(kDear, 1));
  const auto order = served();
  EXPECT_LE(std::ranges::find(order, first) - order.begin(), 1);
  EXPECT_LE(std::ranges::find(order, second) - order.begin(), 3);
}

TEST_F(AdmissionQueueTest, WhoWasIdleComesBackWithoutAClaimToAllOfIt) {
  for (int i = 0; i < 20; ++i) waits(request(kDear, 0));
  served();
  for (int i = 0; i < 10; ++i) waits(request(kDear, 0));
  for (int i = 0; i < 10; ++i) waits(request(kDear, 1));
  int of_the_new = 0;
  const auto order = served();
  for (std::size_t i = 0; i < 10; ++i) of_the_new += order[i] > 30 ? 1 : 0;
  EXPECT_NEAR(of_the_new, 5, 1);
}

TEST_F(AdmissionQueueTest, ThoseWhoAreTooLateComeAfterAllOthers) {
  const auto late = waits(request(kDear, 0, Seconds{1}));
  const auto cheap = waits(request(kCheap, 0, Seconds{30}));
  EXPECT_THAT(served(kNow + seconds{2}), ElementsAre(cheap, late));
}

TEST_F(AdmissionQueueTest, WhoHasTimeGivesWayWhileADearerOneIsStillInTime) {
  const auto dear = waits(request(kDear, 0, Seconds{2}));
  const auto cheap = waits(request(kCheap, 0, Seconds{40}));
  const auto not_dear = [&](const Waiting& one) { return one.id != dear; };
  EXPECT_THAT(served(not_dear), IsEmpty());
  EXPECT_THAT(served(not_dear, kNow + seconds{3}), ElementsAre(cheap)) << "the dear one is late by now";
  const auto urgent = waits(request(kCheap, 0, Seconds{9}));
  waits(request(kDear, 0, Seconds{2}));
  EXPECT_THAT(served([](const Waiting& one) { return one.service_class == kCheap; }), ElementsAre(urgent));
}

TEST_F(AdmissionQueueTest, ForgetsWhoLeaves) {
  const auto leaves = waits(request());
  const auto stays = waits(request());
  EXPECT_TRUE(queue_.forget(leaves));
  EXPECT_FALSE(queue_.forget(leaves));
  EXPECT_EQ(queue_.depth({0}, kDear).requests, 1U);
  EXPECT_EQ(queue_.bytes(), 1000U);
  EXPECT_THAT(served(), ElementsAre(stays));
}

TEST_F(AdmissionQueueTest, NobodyWaitsLongerThanTheyMay) {
  Waiting patient = request();
  patient.gives_up = kNow + seconds{100};
  const auto gone = waits(request());
  waits(patient);
  EXPECT_THAT(queue_.expire(kNow + milliseconds{59'999}), IsEmpty());
  const auto expired = queue_.expire(kNow + seconds{60});
  ASSERT_EQ(expired.size(), 1U);
  EXPECT_EQ(expired.front().id, gone);
  EXPECT_EQ(queue_.size(), 1U);
}

TEST_F(AdmissionQueueTest, WhenFullTheClassWhoseMissIsWorthLeastMakesRoom) {
  for (int i = 0; i < 50; ++i) waits(request(kDear, 0));
  for (int i = 0; i < 49; ++i) waits(request(kCheap, 0, Seconds{50}));
  const auto last = waits(request(kCheap, 0, Seconds{55}));
  const auto answer = queue_.offer(request(kDear, 0), kNow);
  EXPECT_FALSE(answer.turned_away);
  EXPECT_THAT(answer.displaced, ElementsAre(last)) << "the one with most time left";
  EXPECT_EQ(queue_.offer(request(kCheap, 0), kNow).turned_away, TurnedAway::kFull);
  EXPECT_EQ(queue_.size(), 100U);
}

TEST_F(AdmissionQueueTest, WhenFullATenantThatFloodsMakesRoomForOneThatDoesNot) {
  for (int i = 0; i < 100; ++i) waits(request(kDear, 0));
  EXPECT_EQ(queue_.offer(request(kDear, 0), kNow).turned_away, TurnedAway::kFull);
  const auto answer = queue_.offer(request(kDear, 1), kNow);
  EXPECT_FALSE(answer.turned_away);
  EXPECT_EQ(answer.displaced.size(), 1U);
}

TEST_F(AdmissionQueueTest, CountsTheMemoryOfBodies) {
  Waiting large = request();
  large.bytes = 99'500;
  waits(large);
  EXPECT_EQ(queue_.offer(request(), kNow).turned_away, TurnedAway::kFullBytes);
  Waiting never = request(kDear, 7);
  never.bytes = 100'001;
  EXPECT_EQ(queue_.offer(never, kNow).turned_away, TurnedAway::kFullBytes);
  EXPECT_EQ(queue_.size(), 1U) << "what can never fit empties nothing";
}

TEST_F(AdmissionQueueTest, PredictsTheDrainFromTheRateOfTheLastHalfMinute) {
  EXPECT_FALSE(queue_.predicted_drain(request(), kNow)) << "nothing was ever placed";
  for (int i = 0; i < 30; ++i) queue_.placed(request(), kNow - seconds{30 - i});  // a cent a second
  const double before = queue_.predicted_drain(request(), kNow)->count();
  EXPECT_EQ(before, 0) << "nobody waits";
  for (int i = 0; i < 10; ++i) waits(request());
  EXPECT_NEAR(queue_.predicted_drain(request(), kNow)->count(), 10, 1.5);
  EXPECT_NEAR(queue_.predicted_drain(request(kDear, 1), kNow)->count(), 1, 0.2)
      << "another tenant waits for its share only";
}

TEST_F(AdmissionQueueTest, TurnsAwayAtOnceOnlyWhoWouldMissByFar) {
  for (int i = 0; i < 30; ++i) queue_.placed(request(), kNow - seconds{30 - i});
  for (int i = 0; i < 15; ++i) waits(request(kDear, 0, Seconds{60}));
  EXPECT_FALSE(queue_.offer(request(kDear, 0, Seconds{5}), kNow).turned_away)
      << "16 s against 5 s: may be wrong";
  EXPECT_EQ(queue_.offer(request(kDear, 0, Seconds{3}), kNow).turned_away, TurnedAway::kTooLate);
}

TEST_F(AdmissionQueueTest, WhoIsHeldForACheaperHourIsInNobodysWay) {
  Waiting held = request(kCheap, 0, Seconds{3000});
  held.not_before = kNow + seconds{1000};
  held.gives_up = kNow + seconds{3000};
  waits(held);
  EXPECT_THAT(served(), IsEmpty());
  EXPECT_EQ(queue_.depth({0}, kCheap).requests, 1U);
  EXPECT_EQ(queue_.depth({0}, kCheap).work, Usd{0});
  EXPECT_THAT(served(kNow + seconds{1000}), ElementsAre(held.id));
  held.id = 99;
  waits(held);
  EXPECT_TRUE(queue_.forget(99));
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(AdmissionQueueTest, AClockThatGoesBackLosesNobody) {
  waits(request(kDear, 0, Seconds{1}));
  served([](const Waiting&) { return false; }, kNow + seconds{30});
  queue_.placed(request(), kNow + seconds{30});
  queue_.placed(request(), kNow - seconds{30});
  EXPECT_TRUE(queue_.predicted_drain(request(), kNow - seconds{30}));
  EXPECT_EQ(served(kNow - seconds{30}).size(), 1U);
}

TEST_F(AdmissionQueueTest, AfterAnyOrderOfEventsItHoldsExactlyThoseWhoWait) {
  std::uint64_t chance = 1;
  const auto roll = [&](std::uint64_t sides) {
    chance = chance * 6364136223846793005ULL + 1442695040888963407ULL;
    return (chance >> 33U) % sides;
  };
  std::set<std::uint64_t> inside;
  for (int i = 0; i < 5000; ++i) {
    const TimePoint now = kNow + milliseconds{20 * i};
    Waiting one =
        request(ClassIndex{static_cast<std::uint32_t>(roll(2))}, static_cast<std::uint32_t>(roll(3)));
    one.arrived = now;
    one.in_time_until = now + milliseconds{roll(20'000)};
    one.gives_up = now + milliseconds{roll(30'000)};
    if (roll(5) == 0) one.not_before = now + milliseconds{roll(10'000)};
    const auto answer = queue_.offer(one, now);
    if (!answer.turned_away) inside.insert(one.id);
    for (const auto gone : answer.displaced) EXPECT_EQ(inside.erase(gone), 1U);
    if (roll(3) == 0 && !inside.empty()) {
      EXPECT_TRUE(queue_.forget(*inside.begin()));
      inside.erase(inside.begin());
    }
    queue_.serve({0}, now, [&](const Waiting& shown) {
      EXPECT_TRUE(inside.contains(shown.id));
      return roll(3) == 0 && inside.erase(shown.id) == 1;
    });
    for (const Waiting& gone : queue_.expire(now)) EXPECT_EQ(inside.erase(gone.id), 1U);
    ASSERT_EQ(queue_.size(), inside.size());
    ASSERT_EQ(queue_.bytes(), 1000 * inside.size());
  }
  for (const auto one : inside) queue_.forget(one);
  EXPECT_EQ(queue_.depth({0}, kDear).work, Usd{0});
}

}  // namespace
}  // namespace fareway
