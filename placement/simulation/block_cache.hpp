#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

namespace fareway::simulation {

/// Identity of one block of prompt content together with everything before it.
using BlockId = std::uint64_t;

/// Tokens a block stands for in the traces (Mooncake's traces name 512-token blocks).
inline constexpr std::int64_t kTraceBlockTokens = 512;

/// The prefix cache of a simulated engine: the truth, where the router only has a guess. Blocks in least
/// recently used order; how many may stay is said at each insertion, because running sequences take memory
/// away.
class BlockCache {
 public:
  /// How many blocks at the head of `blocks` are held.
  std::size_t held(std::span<const BlockId> blocks) const;
  /// Holds all of `blocks`, the head as the newest, and forgets the oldest beyond `most`.
  void hold(std::span<const BlockId> blocks, std::size_t most);
  std::size_t size() const { return where_.size(); }

 private:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = 0xffffffff;
  struct Node {
    BlockId id{};
    Slot newer{kNone};
    Slot older{kNone};
  };

  void touch(BlockId id);
  void unlink(Slot slot);
  void push_newest(Slot slot);
  void forget_oldest();

  std::vector<Node> nodes_;
  std::vector<Slot> free_;
  boost::unordered_flat_map<BlockId, Slot> where_;
  Slot newest_{kNone};
  Slot oldest_{kNone};
};

}  // namespace fareway::simulation
