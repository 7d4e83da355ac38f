#include "router/admin/on_loop.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

namespace fareway {
namespace {

namespace net = boost::asio;
using std::chrono::milliseconds;

struct Asked {
  bool answered{false};
  std::optional<int> result;
};

LoopAwaitable<void> ask(net::io_context* other, Asked* asked, milliseconds deadline) {
  auto read = [] { return 42; };
  asked->result = co_await on_loop(*other, std::move(read), deadline);
  asked->answered = true;
}

TEST(OnLoop, BringsTheResultHome) {
  net::io_context home;
  net::io_context other;
  Asked asked;
  net::co_spawn(home.get_executor(), ask(&other, &asked, milliseconds{10'000}), net::detached);
  home.poll();
  EXPECT_FALSE(asked.answered);
  other.run();
  home.run();
  EXPECT_EQ(asked.result, 42);
}

TEST(OnLoop, GivesNothingAfterTheDeadlineAndDropsALateResult) {
  net::io_context home;
  net::io_context other;
  Asked asked;
  net::co_spawn(home.get_executor(), ask(&other, &asked, milliseconds{1}), net::detached);
  home.run();
  EXPECT_TRUE(asked.answered);
  EXPECT_EQ(asked.result, std::nullopt);
  EXPECT_EQ(other.run(), 1) << "the read runs late";
  home.restart();
  EXPECT_EQ(home.run(), 1) << "its result comes home and is dropped";
  EXPECT_EQ(asked.result, std::nullopt);
}

// At shutdown a read may still wait on a loop that no longer runs, and be destroyed after the loop it came
// from.
TEST(OnLoop, LeavesNothingBehindThatNeedsItsOwnLoop) {
  net::io_context other;
  Asked asked;
  {
    net::io_context home;
    net::co_spawn(home.get_executor(), ask(&other, &asked, milliseconds{10'000}), net::detached);
    home.poll();
  }
  EXPECT_FALSE(asked.answered);
}

}  // namespace
}  // namespace fareway
