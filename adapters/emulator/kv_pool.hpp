#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "placement/request_shape.hpp"
#include "pricing/base/units.hpp"

namespace fareway::emulator {

/// The KV memory of one engine, counted in tokens, and what it still remembers of earlier prompts.
///
/// Full blocks of `kBlockTokens` are shared between sequences by their key. A block nobody uses any more
/// stays where it is, counts as free, and is forgotten (least recently used first) when its room is needed.
class KvPool {
 public:
  /// What one sequence holds. Give it back with `release`; a lease that is dropped leaks its tokens.
  struct Lease {
    std::vector<BlockKey> shared;  ///< the blocks at its head
    Tokens own;                    ///< tokens after those, and the sequence's constant state

    Tokens cached() const { return {static_cast<std::int64_t>(shared.size()) * kBlockTokens}; }
  };

  explicit KvPool(Tokens size) : size_(size) {}

  Tokens size() const { return size_; }
  /// Tokens that sequences hold; what is merely remembered is not among them.
  Tokens used() const { return used_; }

  /// Room for a sequence of `total` tokens and `state`, on top of the remembered blocks at its head. The last
  /// token is never taken from the cache: computing it is what yields the next one. Nothing where it does not
  /// fit.
  std::optional<Lease> admit(std::span<const BlockKey> blocks, Tokens total, Tokens state);
  /// Room for `more` tokens; false, and nothing changed, where there is none.
  bool grow(Lease& lease, Tokens more);
  /// The tokens of `blocks`, all full blocks computed so far, are now there for others to share.
  void publish(Lease& lease, std::span<const BlockKey> blocks);
  void release(Lease& lease);

 private:
  struct Block {
    std::uint32_t users{};
    std::list<BlockKey>::iterator idle;  // valid where users is 0
  };

  std::size_t remembered(std::span<const BlockKey> blocks) const;
  void add_user(BlockKey key);
  void remove_user(BlockKey key);
  void forget_until_free(Tokens needed);

  Tokens size_;
  Tokens used_;
  std::unordered_map<BlockKey, Block> blocks_;
  std::list<BlockKey> idle_;  // newest first
};

}  // namespace fareway::emulator
