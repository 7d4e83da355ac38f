#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "router/gateway/net.hpp"

namespace fareway {

/// One coroutine that waits, to be resumed or destroyed exactly once. Kept in place: waiting allocates
/// nothing.
class Waiter {
 public:
  Waiter() = default;
  template <class Handler>
    requires(!std::is_same_v<std::decay_t<Handler>, Waiter>)
  explicit Waiter(Handler handler) {
    static_assert(sizeof(Handler) <= kRoom && alignof(Handler) <= alignof(void*));
    static_assert(std::is_nothrow_move_constructible_v<Handler>);
    ::new (room_.data()) Handler(std::move(handler));
    act_ = [](Act act, std::byte* from, std::byte* to, const ErrorCode& ec) {
      Handler* const held = std::launder(reinterpret_cast<Handler*>(from));
      Handler taken(std::move(*held));
      held->~Handler();
      if (act == Act::kMove) ::new (to) Handler(std::move(taken));
      if (act == Act::kResume) taken(ec);
    };
  }
  Waiter(Waiter&& other) noexcept { take(other); }
  Waiter& operator=(Waiter&& other) noexcept {
    if (this == &other) return *this;
    drop();
    take(other);
    return *this;
  }
  ~Waiter() { drop(); }

  explicit operator bool() const { return act_ != nullptr; }
  void operator()(const ErrorCode& ec) {
    std::exchange(act_, nullptr)(Act::kResume, room_.data(), nullptr, ec);
  }

 private:
  enum class Act { kResume, kMove, kDrop };
  static constexpr std::size_t kRoom = 4 * sizeof(void*);

  void take(Waiter& other) {
    act_ = std::exchange(other.act_, nullptr);
    if (act_ != nullptr) act_(Act::kMove, other.room_.data(), room_.data(), {});
  }
  void drop() {
    if (act_ != nullptr) std::exchange(act_, nullptr)(Act::kDrop, room_.data(), nullptr, {});
  }

  alignas(void*) std::array<std::byte, kRoom> room_;
  void (*act_)(Act, std::byte* from, std::byte* to, const ErrorCode&){nullptr};
};

}  // namespace fareway
