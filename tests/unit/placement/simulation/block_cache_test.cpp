#include "placement/simulation/block_cache.hpp"

#include <gtest/gtest.h>

namespace fareway::simulation {
namespace {

using Blocks = std::vector<BlockId>;

TEST(BlockCache, CountsOnlyTheUnbrokenHeadOfAPrefix) {
  BlockCache cache;
  cache.hold(Blocks{1, 2, 3}, 10);
  EXPECT_EQ(cache.held(Blocks{1, 2, 3, 4}), 3u);
  EXPECT_EQ(cache.held(Blocks{1, 9, 3}), 1u);
  EXPECT_EQ(cache.held(Blocks{9, 2, 3}), 0u);
  EXPECT_EQ(cache.held(Blocks{}), 0u);
}

TEST(BlockCache, ForgetsTheTailOfTheLeastRecentlyUsedPrefixFirst) {
  BlockCache cache;
  cache.hold(Blocks{1, 2, 3}, 4);
  cache.hold(Blocks{7, 8}, 4);
  EXPECT_EQ(cache.size(), 4u);
  EXPECT_EQ(cache.held(Blocks{1, 2, 3}), 2u);
  EXPECT_EQ(cache.held(Blocks{7, 8}), 2u);
}

TEST(BlockCache, WhatIsUsedAgainIsForgottenLater) {
  BlockCache cache;
  cache.hold(Blocks{1}, 2);
  cache.hold(Blocks{2}, 2);
  cache.hold(Blocks{1}, 2);
  cache.hold(Blocks{3}, 2);
  EXPECT_EQ(cache.held(Blocks{1}), 1u);
  EXPECT_EQ(cache.held(Blocks{2}), 0u);
}

TEST(BlockCache, ShrinksWhenRunningSequencesTakeTheMemory) {
  BlockCache cache;
  cache.hold(Blocks{1, 2, 3, 4}, 4);
  cache.hold(Blocks{1}, 2);
  EXPECT_EQ(cache.size(), 2u);
  cache.hold(Blocks{5}, 0);
  EXPECT_EQ(cache.size(), 0u);
  cache.hold(Blocks{6, 7}, 2);
  EXPECT_EQ(cache.held(Blocks{6, 7}), 2u);
}

}  // namespace
}  // namespace fareway::simulation
