#include "adapters/emulator/kv_pool.hpp"

#include <algorithm>
#include <ranges>

namespace fareway::emulator {
namespace {

constexpr Tokens kBlock{kBlockTokens};

}  // namespace

std::optional<KvPool::Lease> KvPool::admit(std::span<const BlockKey> blocks, Tokens total, Tokens state) {
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(total.value - 1, 0) / kBlockTokens);
  const auto head = blocks.first(remembered(blocks.first(std::min(most, blocks.size()))));
  const auto woken = std::ranges::count_if(head, [&](BlockKey key) { return blocks_.at(key).users == 0; });

  Lease lease{.shared{head.begin(), head.end()}, .own{}};
  const Tokens own = total - lease.cached() + state;
  if (used_ + kBlock * woken + own > size_) return std::nullopt;
  for (const BlockKey key : head) add_user(key);
  forget_until_free(own);
  used_ += own;
  lease.own = own;
  return lease;
}

bool KvPool::grow(Lease& lease, Tokens more) {
  if (used_ + more > size_) return false;
  forget_until_free(more);
  used_ += more;
  lease.own += more;
  return true;
}

void KvPool::publish(Lease& lease, std::span<const BlockKey> blocks) {
  for (std::size_t i = lease.shared.size(); i < blocks.size(); ++i) {
    // Where another sequence computed the same block meanwhile, this one's copy is given up for it.
    used_ -= kBlock;
    lease.own -= kBlock;
    add_user(blocks[i]);
    lease.shared.push_back(blocks[i]);
  }
}

void KvPool::release(Lease& lease) {
  // Tail first, so that the head of a prefix, worth most to others, is forgotten last.
  for (const BlockKey key : lease.shared | std::views::reverse) remove_user(key);
  used_ -= lease.own;
  lease = {};
}

std::size_t KvPool::remembered(std::span<const BlockKey> blocks) const {
  const auto miss = std::ranges::find_if_not(blocks, [&](BlockKey key) { return blocks_.contains(key); });
  return static_cast<std::size_t>(miss - blocks.begin());
}

void KvPool::add_user(BlockKey key) {
  const auto [it, is_new] = blocks_.try_emplace(key);
  Block& block = it->second;
  if (block.users == 0) {
    if (!is_new) idle_.erase(block.idle);
    used_ += kBlock;
  }
  ++block.users;
}

void KvPool::remove_user(BlockKey key) {
  Block& block = blocks_.at(key);
  if (--block.users > 0) return;
  idle_.push_front(key);
  block.idle = idle_.begin();
  used_ -= kBlock;
}

void KvPool::forget_until_free(Tokens needed) {
  while (!idle_.empty() && used_ + kBlock * static_cast<std::int64_t>(idle_.size()) + needed > size_) {
    blocks_.erase(idle_.back());
    idle_.pop_back();
  }
}

}  // namespace fareway::emulator
