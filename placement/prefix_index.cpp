#include "placement/prefix_index.hpp"

#include <algorithm>
#include <ranges>

namespace fareway {
namespace {

std::size_t blocks_of(Tokens tokens) {
  return static_cast<std::size_t>(std::max<std::int64_t>(tokens.value, 0) / kBlockTokens);
}

}  // namespace

/// SplitMix64's finaliser, public domain (Vigna).
BlockKey PrefixIndex::session_block(std::uint64_t session, std::size_t index) {
  std::uint64_t z = session + 0x9e3779b97f4a7c15U * (index + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

void PrefixIndex::add_replica(Tokens capacity) {
  caches_.push_back({.capacity = std::min(blocks_of(capacity), std::size_t{kNone})});
}

Tokens PrefixIndex::most_cached(const RequestShape& shape) {
  return {std::max<std::int64_t>(shape.prompt.value - 1, 0)};
}

Tokens PrefixIndex::cached(ReplicaIndex replica, const RequestShape& shape) const {
  const auto head = [&](std::size_t count, auto key_at) {
    const auto blocks = std::views::iota(std::size_t{0}, count);
    const auto end = std::ranges::partition_point(
        blocks, [&](std::size_t block) { return holds(replica, key_at(block)); });
    return static_cast<std::int64_t>(end - blocks.begin());
  };
  std::int64_t most = head(shape.prefix.size(), [&](std::size_t block) { return shape.prefix[block]; });
  if (shape.session != 0)
    most = std::max(most, head(blocks_of(shape.prompt),
                               [&](std::size_t block) { return session_block(shape.session, block); }));
  return std::min(Tokens{most * kBlockTokens}, most_cached(shape));
}

bool PrefixIndex::holds(ReplicaIndex replica, BlockKey key) const {
  const Holders* holders = holders_of(key);
  return holders != nullptr && std::ranges::binary_search(*holders, replica.value, {}, &Holder::replica);
}

void PrefixIndex::hold(ReplicaIndex replica, const RequestShape& shape, Tokens output) {
  if (replica.value >= caches_.size() || caches_[replica.value].capacity == 0) return;
  // Tail first, so that the head of a prefix is the newest and is forgotten last.
  if (shape.session != 0)
    for (std::size_t block = blocks_of(shape.prompt + output); block-- > 0;)
      touch(replica.value, session_block(shape.session, block));
  for (const BlockKey key : std::views::reverse(shape.prefix)) touch(replica.value, key);
}

void PrefixIndex::clear(ReplicaIndex replica) {
  if (replica.value >= caches_.size()) return;
  const Cache& cache = caches_[replica.value];
  while (cache.oldest != kNone) forget(replica.value, cache.oldest);
}

void PrefixIndex::touch(std::uint32_t replica, BlockKey key) {
  Cache& cache = caches_[replica];
  if (const auto known = blocks_.find(key); known != blocks_.end()) {
    const auto at = std::ranges::lower_bound(known->second, replica, {}, &Holder::replica);
    if (at != known->second.end() && at->replica == replica) return cache.use(at->place);
  }
  if (cache.held == cache.capacity) forget(replica, cache.oldest);
  Holders& holders = blocks_[key];
  const auto at = std::ranges::lower_bound(holders, replica, {}, &Holder::replica);
  holders.insert(at, {replica, cache.put(key)});
}

void PrefixIndex::forget(std::uint32_t replica, std::uint32_t place) {
  Cache& cache = caches_[replica];
  const auto known = blocks_.find(cache.places[place].key);
  Holders& holders = known->second;
  holders.erase(std::ranges::lower_bound(holders, replica, {}, &Holder::replica));
  if (holders.empty()) blocks_.erase(known);
  cache.take_out(place);
}

std::uint32_t PrefixIndex::Cache::put(BlockKey key) {
  if (free.empty()) {
    free.push_back(static_cast<std::uint32_t>(places.size()));
    places.emplace_back();
  }
  const std::uint32_t place = free.back();
  free.pop_back();
  places[place].key = key;
  link_newest(place);
  ++held;
  return place;
}

void PrefixIndex::Cache::use(std::uint32_t place) {
  if (place == newest) return;
  unlink(place);
  link_newest(place);
}

void PrefixIndex::Cache::take_out(std::uint32_t place) {
  unlink(place);
  free.push_back(place);
  --held;
}

void PrefixIndex::Cache::link_newest(std::uint32_t place) {
  places[place].newer = kNone;
  places[place].older = newest;
  (newest == kNone ? oldest : places[newest].newer) = place;
  newest = place;
}

void PrefixIndex::Cache::unlink(std::uint32_t place) {
  const auto [key, newer, older] = places[place];
  (newer == kNone ? newest : places[newer].older) = older;
  (older == kNone ? oldest : places[older].newer) = newer;
}

}  // namespace fareway
