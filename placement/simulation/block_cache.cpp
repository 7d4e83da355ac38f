#include "placement/simulation/block_cache.hpp"

#include <ranges>

namespace fareway::simulation {

std::size_t BlockCache::held(std::span<const BlockId> blocks) const {
  std::size_t count = 0;
  while (count < blocks.size() && where_.contains(blocks[count])) ++count;
  return count;
}

void BlockCache::hold(std::span<const BlockId> blocks, std::size_t most) {
  // Tail first: an engine frees the end of a prefix before its head, without which the rest is worthless.
  for (const BlockId id : std::views::reverse(blocks)) touch(id);
  while (where_.size() > most) forget_oldest();
}

void BlockCache::touch(BlockId id) {
  if (const auto known = where_.find(id); known != where_.end()) {
    unlink(known->second);
    push_newest(known->second);
    return;
  }
  Slot slot{};
  if (free_.empty()) {
    slot = static_cast<Slot>(nodes_.size());
    nodes_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  nodes_[slot].id = id;
  push_newest(slot);
  where_.emplace(id, slot);
}

void BlockCache::unlink(Slot slot) {
  const Node& node = nodes_[slot];
  (node.newer == kNone ? newest_ : nodes_[node.newer].older) = node.older;
  (node.older == kNone ? oldest_ : nodes_[node.older].newer) = node.newer;
}

void BlockCache::push_newest(Slot slot) {
  nodes_[slot].newer = kNone;
  nodes_[slot].older = newest_;
  if (newest_ != kNone) nodes_[newest_].newer = slot;
  newest_ = slot;
  if (oldest_ == kNone) oldest_ = slot;
}

void BlockCache::forget_oldest() {
  const Slot slot = oldest_;
  unlink(slot);
  where_.erase(nodes_[slot].id);
  free_.push_back(slot);
}

}  // namespace fareway::simulation
