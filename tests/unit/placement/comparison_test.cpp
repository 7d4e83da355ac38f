// Which deployment is cheapest, by how much, and where that changes.
#include "placement/speed/comparison.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/catalogue/catalogue.hpp"
#include "placement/catalogue/device_prices.hpp"

namespace fareway {
namespace {

constexpr Bytes kReserve{8 * kGibibyte};
constexpr ComparisonLoad kLoad{.input_tokens = 8192, .output_tokens = 1024};

DeploymentCurve curve(const char* model, const char* text, double price, const ComparisonLoad& load = kLoad) {
  const auto deployment = parse_deployment(*find_model(model), text);
  if (!deployment) ADD_FAILURE() << deployment.error().what;
  return curve_of({.deployment = *deployment, .per_device_hour = UsdPerHour{price}}, load, kReserve);
}

// Published: 48, 33 and 7 tok/s per $/h at $2.50, $6.00 and $4.25.
TEST(Comparison, RanksKimiK3AsPublishedWithTheBreakEvenPrices) {
  const std::vector curves{curve("Kimi-K3", "B200:2x8:tp16", 4.25), curve("Kimi-K3", "MI355X:tp8", 2.50),
                           curve("Kimi-K3", "B300:tp8:dcp8", 6.00)};
  const std::vector<RankedOffer> order = ranked_as_published(curves);
  ASSERT_EQ(order.size(), 3);
  EXPECT_EQ(order[0].index, 1);
  EXPECT_EQ(order[1].index, 2);
  EXPECT_EQ(order[2].index, 0);
  EXPECT_NEAR(order[0].tokens_per_dollar_hour, 48, 0.5);
  EXPECT_NEAR(order[1].tokens_per_dollar_hour, 33, 0.5);
  EXPECT_NEAR(order[2].tokens_per_dollar_hour, 7, 0.5);
  // 952 tok/s for $20 an hour are 47.6; 1,568 from eight devices reach that at $4.12, 498 from sixteen at
  // $0.65.
  EXPECT_NEAR(order[0].break_even_device_hour.value, 2.50, 1e-9);
  EXPECT_NEAR(order[1].break_even_device_hour.value, 4.12, 0.01);
  EXPECT_NEAR(order[2].break_even_device_hour.value, 0.65, 0.01);
  // $20 / (952 × 3,600) a token.
  EXPECT_NEAR(order[0].per_mtok.value, 5.836, 0.001);
}

TEST(Comparison, AtItsBreakEvenPriceAnOfferIsAsCheapAsTheLeader) {
  const std::vector<Throughput> offers{{0, 8, UsdPerHour{2}, 1000}, {1, 4, UsdPerHour{3}, 400}};
  std::vector<Throughput> even = offers;
  even[1].per_device_hour = ranked(offers)[1].break_even_device_hour;
  const std::vector<RankedOffer> order = ranked(even);
  EXPECT_NEAR(order[0].tokens_per_dollar_hour, order[1].tokens_per_dollar_hour, 1e-9);
}

TEST(Comparison, TheCheapestDeviceDependsOnTheSpeedOfEachUser) {
  const std::vector curves{curve("DeepSeek-R1", "8xMI300X", 1.30), curve("DeepSeek-R1", "8xH200", 2.05)};
  const std::vector<Flip> found = flips(curves);
  ASSERT_FALSE(found.empty());
  for (const Flip& flip : found) {
    EXPECT_EQ(ranked_at(curves, flip.interactivity - 0.2).front().index, flip.from) << flip.interactivity;
    EXPECT_EQ(ranked_at(curves, flip.interactivity).front().index, flip.to) << flip.interactivity;
  }
}

TEST(Comparison, WhoIsTooSlowForTheTargetIsNotRanked) {
  const std::vector curves{curve("DeepSeek-R1", "8xMI300X", 1.30), curve("DeepSeek-R1", "8xB200", 2.60)};
  const std::vector<RankedOffer> fast = ranked_at(curves, 100);
  ASSERT_EQ(fast.size(), 1);
  EXPECT_EQ(fast[0].index, 1);
  EXPECT_TRUE(ranked_at(curves, 10'000).empty());
}

TEST(Comparison, SaysWhyADeploymentCannotServeTheLoad) {
  EXPECT_EQ(curve("Kimi-K3", "B200:tp8", 4.25).excluded, "the weights do not fit");
  ComparisonLoad hasty = kLoad;
  hasty.ttft = Seconds{0.01};
  EXPECT_EQ(curve("DeepSeek-R1", "8xH200", 2.05, hasty).excluded,
            "its cold prefill alone misses the TTFT target");
  EXPECT_EQ(curve("DeepSeek-R1", "8xH200", 2.05).excluded, "");
}

TEST(ExamplePrices, AreOfTheCataloguesDevices) {
  const DevicePrices prices = example_prices();
  for (const auto& [name, price] : prices.per_hour) {
    ASSERT_NE(find_device(name), nullptr) << name;
    EXPECT_EQ(find_device(name)->name, name);
  }
  EXPECT_EQ(prices.of("L4"), std::nullopt) << "unknown is not free";
  EXPECT_FALSE(prices.as_of.empty());
}

}  // namespace
}  // namespace fareway
