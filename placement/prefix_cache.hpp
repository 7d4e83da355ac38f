#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

#include "placement/request_shape.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What one replica's KV cache probably still holds, as block keys with least-recently-used forgetting,
/// bounded by the replica's own KV capacity. A guess the engine is never asked about; it costs dollars when
/// wrong, not correctness.
class PrefixCache {
 public:
  PrefixCache() = default;  ///< no capacity: holds nothing
  explicit PrefixCache(Tokens capacity);

  /// Tokens at the head of this prompt that are probably cached: the longer of the session's own context and
  /// of the content's shared prefix, never more than the prompt less one (the last token is always computed).
  Tokens cached(const RequestShape& shape) const;

  /// The replica now holds this prompt; with a session also `output` tokens after it.
  void hold(const RequestShape& shape, Tokens output);
  void clear();
  std::size_t blocks() const { return recency_.size(); }

 private:
  void touch(BlockKey key);

  std::size_t capacity_blocks_{0};
  std::list<BlockKey> recency_;  // newest first
  std::unordered_map<BlockKey, std::list<BlockKey>::iterator> where_;
};

}  // namespace fareway
