#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace fareway {

using LoopExecutor = boost::asio::io_context::executor_type;
using LoopTimer =
    boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                      boost::asio::wait_traits<std::chrono::steady_clock>, LoopExecutor>;
template <class T>
using LoopAwaitable = boost::asio::awaitable<T, LoopExecutor>;
inline constexpr boost::asio::use_awaitable_t<LoopExecutor> kUseLoopAwaitable{};

/// Runs `read` on the thread of `loop` and brings its result back to the caller's own one-thread loop;
/// nothing where it did not run within `deadline`. It may then still run later: what it refers to outlives
/// `loop`'s work, and its result is dropped.
template <class Read>
LoopAwaitable<std::optional<std::invoke_result_t<Read>>> on_loop(boost::asio::io_context& loop, Read read,
                                                                 std::chrono::milliseconds deadline) {
  struct Wait {
    LoopTimer timer;
    std::optional<std::invoke_result_t<Read>> result;
  };
  const auto home = co_await boost::asio::this_coro::executor;
  const auto wait = std::make_shared<Wait>(Wait{LoopTimer(home, deadline), std::nullopt});
  // Weak: only this frame keeps the timer, so that nothing left in `loop`'s queue outlives the timer's own
  // loop with it.
  boost::asio::post(loop, [waiting = std::weak_ptr(wait), home, read = std::move(read)]() mutable {
    boost::asio::post(home, [waiting = std::move(waiting), result = read()]() mutable {
      const auto still = waiting.lock();
      if (!still) return;
      still->result = std::move(result);
      still->timer.cancel();
    });
  });
  const auto token = boost::asio::as_tuple(kUseLoopAwaitable);
  co_await wait->timer.async_wait(token);
  co_return std::move(wait->result);
}

}  // namespace fareway
