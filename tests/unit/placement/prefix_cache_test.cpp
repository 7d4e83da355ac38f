#include "placement/prefix_cache.hpp"

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::request;

RequestShape with_prefix(std::vector<BlockKey> keys) {
  RequestShape shape = request(static_cast<std::int64_t>(keys.size()) * kBlockTokens + 10, 1);
  shape.prefix = std::move(keys);
  return shape;
}

RequestShape in_session(std::uint64_t session, std::int64_t prompt) {
  RequestShape shape = request(prompt, 1);
  shape.session = session;
  return shape;
}

TEST(PrefixCache, KnowsTheSharedHeadOfAPrompt) {
  PrefixCache cache{Tokens{100 * kBlockTokens}};
  cache.hold(with_prefix({1, 2, 3}), {});
  EXPECT_EQ(cache.cached(with_prefix({1, 2, 3, 4})), Tokens{3 * kBlockTokens});
  EXPECT_EQ(cache.cached(with_prefix({1, 9, 3})), Tokens{kBlockTokens}) << "a difference ends the prefix";
  EXPECT_EQ(cache.cached(with_prefix({8, 2, 3})), Tokens{0});
}

TEST(PrefixCache, KnowsTheNextTurnOfASessionWithItsAnswer) {
  PrefixCache cache{Tokens{100 * kBlockTokens}};
  cache.hold(in_session(7, 3 * kBlockTokens), {2 * kBlockTokens});
  EXPECT_EQ(cache.cached(in_session(7, 8 * kBlockTokens)), Tokens{5 * kBlockTokens});
  EXPECT_EQ(cache.cached(in_session(8, 8 * kBlockTokens)), Tokens{0}) << "another session shares nothing";
}

TEST(PrefixCache, NeverClaimsTheWholePrompt) {
  PrefixCache cache{Tokens{100 * kBlockTokens}};
  cache.hold(in_session(7, 4 * kBlockTokens), {});
  EXPECT_EQ(cache.cached(in_session(7, kBlockTokens)), Tokens{kBlockTokens - 1})
      << "the last token is computed";
}

TEST(PrefixCache, ForgetsTheLeastRecentlyUsedWhenFull) {
  PrefixCache cache{Tokens{4 * kBlockTokens}};
  cache.hold(with_prefix({1, 2}), {});
  cache.hold(with_prefix({3, 4}), {});
  cache.hold(with_prefix({1, 2}), {});
  cache.hold(with_prefix({5}), {});
  EXPECT_EQ(cache.blocks(), 4U);
  EXPECT_EQ(cache.cached(with_prefix({1, 2})), Tokens{2 * kBlockTokens});
  EXPECT_EQ(cache.cached(with_prefix({3, 4})), Tokens{kBlockTokens})
      << "the tail of the older prefix went first";
}

TEST(PrefixCache, HoldsNothingWithoutCapacity) {
  PrefixCache cache{Tokens{0}};
  cache.hold(with_prefix({1}), {});
  EXPECT_EQ(cache.cached(with_prefix({1})), Tokens{0});
}

}  // namespace
}  // namespace fareway
