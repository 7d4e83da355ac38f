#include "placement/prefix_cache.hpp"

#include <algorithm>
#include <ranges>

namespace fareway {
namespace {

/// Block `index` of a session's own context. SplitMix64's finaliser, public domain (Vigna).
BlockKey session_block(std::uint64_t session, std::uint64_t index) {
  std::uint64_t z = session + 0x9e3779b97f4a7c15U * (index + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::int64_t blocks_of(Tokens tokens) {
  return std::max<std::int64_t>(tokens.value, 0) / kBlockTokens;
}

}  // namespace

PrefixCache::PrefixCache(Tokens capacity) : capacity_blocks_(static_cast<std::size_t>(blocks_of(capacity))) {}

Tokens PrefixCache::cached(const RequestShape& shape) const {
  std::int64_t shared = 0;
  while (shared < std::ssize(shape.prefix) && where_.contains(shape.prefix[static_cast<std::size_t>(shared)]))
    ++shared;
  std::int64_t own = 0;
  if (shape.session != 0) {
    const std::int64_t most = blocks_of(shape.prompt);
    while (own < most && where_.contains(session_block(shape.session, static_cast<std::uint64_t>(own))))
      ++own;
  }
  const std::int64_t tokens = std::max(shared, own) * kBlockTokens;
  return {std::clamp<std::int64_t>(tokens, 0, std::max<std::int64_t>(shape.prompt.value - 1, 0))};
}

void PrefixCache::hold(const RequestShape& shape, Tokens output) {
  // Tail first, so that the head of a prefix is the newest and is forgotten last.
  if (shape.session != 0) {
    for (std::int64_t i = blocks_of(shape.prompt + output); i-- > 0;)
      touch(session_block(shape.session, static_cast<std::uint64_t>(i)));
  }
  for (const BlockKey key : std::views::reverse(shape.prefix)) touch(key);
}

void PrefixCache::clear() {
  where_.clear();
  recency_.clear();
}

void PrefixCache::touch(BlockKey key) {
  if (capacity_blocks_ == 0) return;
  if (const auto known = where_.find(key); known != where_.end()) {
    recency_.splice(recency_.begin(), recency_, known->second);
    return;
  }
  if (recency_.size() >= capacity_blocks_) {
    where_.erase(recency_.back());
    recency_.pop_back();
  }
  recency_.push_front(key);
  where_.emplace(key, recency_.begin());
}

}  // namespace fareway
