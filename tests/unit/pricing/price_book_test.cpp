#include "pricing/price_book.hpp"

#include <gtest/gtest.h>

namespace fareway {
namespace {

WallTime at(std::int64_t seconds) {
  return WallTime{std::chrono::seconds{seconds}};
}

TEST(PriceBook, GivesThePriceThatHoldsAtTheTime) {
  const PriceBook book({{{at(0), {2}}, {at(100), {3}}, {at(200), {1}}}, {{at(0), {7}}}});
  EXPECT_EQ(book.price(PoolIndex{0}, at(99)), NanoUsdPerHour{2});
  EXPECT_EQ(book.price(PoolIndex{0}, at(100)), NanoUsdPerHour{3}) << "a step holds from its own instant on";
  EXPECT_EQ(book.price(PoolIndex{0}, at(5000)), NanoUsdPerHour{1});
  EXPECT_EQ(book.price(PoolIndex{1}, at(100)), NanoUsdPerHour{7});
}

TEST(PriceBook, TakesTheFirstPriceBeforeTheFirstStep) {
  const PriceBook book({{{at(100), {3}}, {at(200), {1}}}});
  EXPECT_EQ(book.price(PoolIndex{0}, at(1)), NanoUsdPerHour{3});
}

TEST(PriceBook, AveragesOverStepsByTime) {
  constexpr std::int64_t kDollar = 1'000'000'000;
  const PriceBook book({{{at(100), {3 * kDollar}}, {at(200), {kDollar}}}});
  EXPECT_DOUBLE_EQ(book.mean_price(PoolIndex{0}, at(0), at(100)).value, 3);
  EXPECT_DOUBLE_EQ(book.mean_price(PoolIndex{0}, at(175), at(275)).value, 1.5) << "25 s at $3, 75 s at $1";
  EXPECT_DOUBLE_EQ(book.mean_price(PoolIndex{0}, at(200), at(200)).value, 1) << "no time at all";
}

}  // namespace
}  // namespace fareway
