#include "pricing/list_prices.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

// $0.60 in, $0.11 cached, $2.20 out for a million tokens.
constexpr ListPrice kList{{600'000'000}, {110'000'000}, {2'200'000'000}};

TEST(PriceOf, ChargesUncachedCachedAndOutputTokensAtTheirOwnPrices) {
  // 600 uncached × 600 + 400 cached × 110 + 100 out × 2200 = 360,000 + 44,000 + 220,000 nanodollars.
  EXPECT_EQ(price_of(kList, {{1000}, {400}, {100}}), NanoUsd{624'000});
}

TEST(PriceOf, SumsBeforeRoundingOnceHalfAwayFromZero) {
  const ListPrice half{{500'000}, {500'000}, {500'000}};  // half a nanodollar a token
  EXPECT_EQ(price_of(half, {{1}, {0}, {0}}), NanoUsd{1});
  EXPECT_EQ(price_of(half, {{1}, {0}, {1}}), NanoUsd{1}) << "two halves are one, not two";
  EXPECT_EQ(price_of(half, {{2}, {1}, {1}}), NanoUsd{2}) << "one and a half rounds up";
}

TEST(PriceOf, NeverChargesForImpossibleCounts) {
  EXPECT_EQ(price_of(kList, {{100}, {900}, {0}}), NanoUsd{11'000})
      << "cached beyond the prompt is all of the prompt";
  EXPECT_EQ(price_of(kList, {{-5}, {-5}, {-5}}), NanoUsd{0});
}

TEST(PriceOf, DoesNotOverflowOnAHugeAnswer) {
  EXPECT_EQ(price_of(kList, {{1'000'000'000'000}, {0}, {0}}), NanoUsd{600'000'000'000'000});
}

}  // namespace
}  // namespace fareway
