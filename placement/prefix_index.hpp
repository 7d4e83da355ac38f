#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "placement/request_shape.hpp"
#include "pricing/base/index.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What the KV caches of the whole fleet probably hold: per block key the replicas that hold it. Each replica
/// forgets what it used least recently, bounded by its own KV capacity. A guess the engines are never asked
/// about; it costs dollars when wrong, not correctness.
///
/// A request asks for each of its blocks once, however many replicas there are, and for most not at all: who
/// holds a block of a chain holds those before it, since a prompt's head is touched last and so forgotten
/// last. The holders along a prompt only become fewer, and where they do is found by bisection. Asking
/// allocates nothing. Not thread-safe.
class PrefixIndex {
 public:
  /// The next replica of the fleet, with room for so many tokens. Without room it holds nothing.
  void add_replica(Tokens capacity);

  /// Calls `visit(replica, tokens)` for who holds a head of this prompt: the session's own context or the
  /// content's shared prefix, in whole blocks. One replica may come several times; its largest figure counts,
  /// and `most_cached` bounds it.
  template <class Visit>
  void visit_holders(const RequestShape& shape, Visit visit) const;

  /// Tokens at the head of this prompt that are probably cached on one replica.
  Tokens cached(ReplicaIndex replica, const RequestShape& shape) const;
  /// Never the whole prompt: its last token is always computed.
  static Tokens most_cached(const RequestShape& shape);

  /// The replica now holds this prompt (one that was never added holds nothing); with a session also `output`
  /// tokens after it.
  void hold(ReplicaIndex replica, const RequestShape& shape, Tokens output);
  void clear(ReplicaIndex replica);
  std::size_t blocks(ReplicaIndex replica) const {
    return replica.value < caches_.size() ? caches_[replica.value].held : 0;
  }

  /// Key of block `index` of a session's own context.
  static BlockKey session_block(std::uint64_t session, std::size_t index);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct Holder {
    std::uint32_t replica{};
    std::uint32_t place{};  // in the replica's cache
  };
  using Holders = boost::container::small_vector<Holder, 2>;  // by replica, ascending

  /// A list in order of use, threaded through `places`.
  struct Cache {
    struct Place {
      BlockKey key{};
      std::uint32_t newer{kNone};
      std::uint32_t older{kNone};
    };
    std::size_t capacity{0};  // blocks
    std::size_t held{0};
    std::uint32_t newest{kNone};
    std::uint32_t oldest{kNone};
    std::vector<Place> places;
    std::vector<std::uint32_t> free;

    std::uint32_t put(BlockKey key);
    void use(std::uint32_t place);
    void take_out(std::uint32_t place);
    void link_newest(std::uint32_t place);
    void unlink(std::uint32_t place);
  };

  const Holders* holders_of(BlockKey key) const {
    const auto found = blocks_.find(key);
    return found == blocks_.end() ? nullptr : &found->second;
  }
  template <class KeyAt, class Visit>
  void visit_chain(std::size_t count, KeyAt key_at, Visit visit) const;
  bool holds(ReplicaIndex replica, BlockKey key) const;
  void touch(std::uint32_t replica, BlockKey key);
  void forget(std::uint32_t replica, std::uint32_t place);

  boost::unordered_flat_map<BlockKey, Holders> blocks_;
  std::vector<Cache> caches_;  // by replica
};

template <class KeyAt, class Visit>
void PrefixIndex::visit_chain(std::size_t count, KeyAt key_at, Visit visit) const {
  std::size_t first = 0;
  const Holders* holders = count == 0 ? nullptr : holders_of(key_at(0));
  while (holders != nullptr) {
    const auto same = [&](std::size_t block) {
      const Holders* others = holders_of(key_at(block));
      return others != nullptr && others->size() == holders->size();
    };
    // The last block that all of these hold: strides that double, then bisection.
    std::size_t last = first;
    std::size_t stride = 1;
    while (last + stride < count && same(last + stride)) {
      last += stride;
      stride *= 2;
    }
    for (; stride > 0; stride /= 2)
      if (last + stride < count && same(last + stride)) last += stride;
    const auto tokens = static_cast<std::int64_t>(last + 1) * kBlockTokens;
    for (const Holder& holder : *holders) visit(ReplicaIndex{holder.replica}, Tokens{tokens});
    first = last + 1;
    holders = first < count ? holders_of(key_at(first)) : nullptr;
  }
}

template <class Visit>
void PrefixIndex::visit_holders(const RequestShape& shape, Visit visit) const {
  visit_chain(shape.prefix.size(), [&](std::size_t block) { return shape.prefix[block]; }, visit);
  if (shape.session == 0 || shape.prompt.value < kBlockTokens) return;
  visit_chain(
      static_cast<std::size_t>(shape.prompt.value / kBlockTokens),
      [&](std::size_t block) { return session_block(shape.session, block); }, visit);
}

}  // namespace fareway
