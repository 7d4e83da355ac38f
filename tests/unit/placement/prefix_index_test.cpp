#include "placement/prefix_index.hpp"

#include <list>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::request;

constexpr ReplicaIndex kOnly{0};

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

TEST(PrefixIndex, KnowsTheSharedHeadOfAPrompt) {
  PrefixIndex index;
  index.add_replica(Tokens{100 * kBlockTokens});
  index.hold(kOnly, with_prefix({1, 2, 3}), {});
  EXPECT_EQ(index.cached(kOnly, with_prefix({1, 2, 3, 4})), Tokens{3 * kBlockTokens});
  EXPECT_EQ(index.cached(kOnly, with_prefix({1, 9, 13})), Tokens{kBlockTokens})
      << "a difference ends the prefix";
  EXPECT_EQ(index.cached(kOnly, with_prefix({8, 12, 13})), Tokens{0});
}

TEST(PrefixIndex, KnowsTheNextTurnOfASessionWithItsAnswer) {
  PrefixIndex index;
  index.add_replica(Tokens{100 * kBlockTokens});
  index.hold(kOnly, in_session(7, 3 * kBlockTokens), {2 * kBlockTokens});
  EXPECT_EQ(index.cached(kOnly, in_session(7, 8 * kBlockTokens)), Tokens{5 * kBlockTokens});
  EXPECT_EQ(index.cached(kOnly, in_session(8, 8 * kBlockTokens)), Tokens{0})
      << "another session shares nothing";
}

TEST(PrefixIndex, NeverClaimsTheWholePrompt) {
  PrefixIndex index;
  index.add_replica(Tokens{100 * kBlockTokens});
  index.hold(kOnly, in_session(7, 4 * kBlockTokens), {});
  EXPECT_EQ(index.cached(kOnly, in_session(7, kBlockTokens)), Tokens{kBlockTokens - 1})
      << "the last token is computed";
}

TEST(PrefixIndex, ForgetsTheLeastRecentlyUsedWhenFull) {
  PrefixIndex index;
  index.add_replica(Tokens{4 * kBlockTokens});
  index.hold(kOnly, with_prefix({1, 2}), {});
  index.hold(kOnly, with_prefix({3, 4}), {});
  index.hold(kOnly, with_prefix({1, 2}), {});
  index.hold(kOnly, with_prefix({5}), {});
  EXPECT_EQ(index.blocks(kOnly), 4U);
  EXPECT_EQ(index.cached(kOnly, with_prefix({1, 2})), Tokens{2 * kBlockTokens});
  EXPECT_EQ(index.cached(kOnly, with_prefix({3, 4})), Tokens{kBlockTokens})
      << "the tail of the older prefix went first";
}

TEST(PrefixIndex, HoldsNothingWithoutCapacity) {
  PrefixIndex index;
  index.add_replica(Tokens{0});
  index.hold(kOnly, with_prefix({1}), {});
  EXPECT_EQ(index.cached(kOnly, with_prefix({1})), Tokens{0});
}

TEST(PrefixIndex, TellsOfEveryHolderHowMuchItHolds) {
  PrefixIndex index;
  for (int i = 0; i < 3; ++i) index.add_replica(Tokens{100 * kBlockTokens});
  index.hold({0}, with_prefix({1, 2, 3, 4}), {});
  index.hold({2}, with_prefix({1, 2}), {});
  const RequestShape shape = with_prefix({1, 2, 3, 4, 5});
  EXPECT_EQ(index.cached({0}, shape), Tokens{4 * kBlockTokens});
  EXPECT_EQ(index.cached({1}, shape), Tokens{0});
  EXPECT_EQ(index.cached({2}, shape), Tokens{2 * kBlockTokens});
  index.clear({0});
  EXPECT_EQ(index.cached({0}, shape), Tokens{0});
  EXPECT_EQ(index.blocks({0}), 0U);
  EXPECT_EQ(index.cached({2}, shape), Tokens{2 * kBlockTokens}) << "the others keep theirs";
}

/// Blocks in order of use, as plainly as can be.
struct PlainCache {
  std::size_t capacity;
  std::list<BlockKey> blocks;  // newest first

  void hold(const std::vector<BlockKey>& prompt) {
    for (auto key = prompt.rbegin(); key != prompt.rend(); ++key) {
      blocks.remove(*key);
      blocks.push_front(*key);
      if (blocks.size() > capacity) blocks.pop_back();
    }
  }
  std::int64_t head(const std::vector<BlockKey>& prompt) const {
    std::int64_t held = 0;
    for (const BlockKey key : prompt) {
      if (std::ranges::find(blocks, key) == blocks.end()) break;
      ++held;
    }
    return held;
  }
};

TEST(PrefixIndex, HoldsWhatPlainListsWouldHold) {
  std::mt19937_64 random{3};
  // Prompts are paths in a tree, so that they share heads of every length.
  const auto prompt = [&] {
    std::vector<BlockKey> keys;
    BlockKey key = 1;
    for (std::size_t length = random() % 14; keys.size() < length;) {
      key = key * 3 + random() % 3;
      keys.push_back(key);
    }
    return keys;
  };
  PrefixIndex index;
  std::vector<PlainCache> plain;
  for (const std::size_t capacity : {0U, 1U, 5U, 20U, 60U}) {
    index.add_replica(Tokens{static_cast<std::int64_t>(capacity) * kBlockTokens + 17});
    plain.push_back({capacity, {}});
  }
  for (int i = 0; i < 5000; ++i) {
    const auto at = static_cast<std::uint32_t>(random() % plain.size());
    const std::vector<BlockKey> held = prompt();
    index.hold({at}, with_prefix(held), {});
    plain[at].hold(held);
    const std::vector<BlockKey> asked = prompt();
    for (std::uint32_t r = 0; r < plain.size(); ++r) {
      ASSERT_EQ(index.cached({r}, with_prefix(asked)), Tokens{plain[r].head(asked) * kBlockTokens}) << i;
      ASSERT_EQ(index.blocks({r}), plain[r].blocks.size());
    }
    std::vector<std::int64_t> told(plain.size());
    index.visit_holders(with_prefix(asked), [&](ReplicaIndex replica, Tokens tokens) {
      told[replica.value] = std::max(told[replica.value], tokens.value / kBlockTokens);
    });
    for (std::size_t r = 0; r < plain.size(); ++r) ASSERT_EQ(told[r], plain[r].head(asked)) << i;
  }
}

}  // namespace
}  // namespace fareway
