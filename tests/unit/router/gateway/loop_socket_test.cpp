// When a socket of an edge-triggered set may be read, and who is told. Everything here runs on one thread.
#include "router/gateway/loop_socket.hpp"

#include <array>
#include <optional>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

namespace fareway::testing {
namespace {

/// A socket of the set, and the other end of its connection.
class Pair {
 public:
  Pair(net::io_context& loop, ReadySet& set) : far(loop.get_executor()), near(set) {
    net::basic_socket_acceptor<net::ip::tcp, Executor> acceptor(
        loop.get_executor(), net::ip::tcp::endpoint(net::ip::address_v4::loopback(), 0));
    far.connect(acceptor.local_endpoint());
    Socket accepted(loop.get_executor());
    acceptor.accept(accepted);
    EXPECT_FALSE(near.open(std::move(accepted)));
  }
  void send(std::string_view bytes) { net::write(far, net::buffer(bytes.data(), bytes.size())); }

  Socket far;
  LoopSocket near;
};

class LoopSocketTest : public ::testing::Test {
 protected:
  /// Runs the loop until `done`.
  template <class Condition>
  void run_until(Condition done) {
    loop_.restart();
    while (!done()) ASSERT_EQ(loop_.run_one_for(std::chrono::seconds(10)), 1u) << "nothing happened";
  }
  /// What one read gives, waiting for it first.
  std::string read(LoopSocket& socket, std::size_t room = 100) {
    run_until([&] { return socket.maybe_readable(); });
    std::string bytes(room, '\0');
    bytes.resize(socket.read_some(bytes, ec_));
    return bytes;
  }
  /// Starts a coroutine that waits until `socket` is readable.
  void wait_for(LoopSocket& socket, std::optional<ErrorCode>& got) {
    net::co_spawn(loop_.get_executor(), wait(socket, got), net::detached);
    loop_.poll();
  }
  static Task<void> wait(LoopSocket& socket, std::optional<ErrorCode>& got) {
    const auto [ec] = co_await socket.readable();
    got = ec;
  }

  net::io_context loop_{1};
  std::shared_ptr<ReadySet> set_{ReadySet::make(loop_)};
  ErrorCode ec_;
};

TEST_F(LoopSocketTest, AReadThatFillsItsRoomMayBeFollowedByAnother) {
  Pair pair(loop_, *set_);
  pair.send("abcdef");
  EXPECT_EQ(read(pair.near, 4), "abcd");
  EXPECT_TRUE(pair.near.maybe_readable());
  EXPECT_EQ(read(pair.near, 4), "ef");
  EXPECT_FALSE(pair.near.maybe_readable());
}

TEST_F(LoopSocketTest, AnEndThatCameWithTheLastBytesIsSeenWithoutAnotherEvent) {
  Pair pair(loop_, *set_);
  pair.send("last");
  pair.far.shutdown(Socket::shutdown_send);
  run_until([&] { return pair.near.maybe_readable(); });
  loop_.poll();
  EXPECT_EQ(read(pair.near), "last");
  ASSERT_TRUE(pair.near.maybe_readable());
  EXPECT_EQ(read(pair.near), "");
  EXPECT_EQ(ec_, net::error::eof);
}

TEST_F(LoopSocketTest, WhoWaitsIsResumedOnceTheHookAgrees) {
  Pair pair(loop_, *set_);
  std::string seen;
  pair.near.on_readable([&] {
    std::array<char, 10> room{};
    seen.append(room.data(), pair.near.read_some(room, ec_));
    return seen.ends_with('.');
  });
  std::optional<ErrorCode> got;
  wait_for(pair.near, got);
  pair.send("one ");
  run_until([&] { return seen == "one "; });
  EXPECT_FALSE(got);
  pair.send("two.");
  run_until([&] { return got.has_value(); });
  EXPECT_FALSE(*got);
  EXPECT_EQ(seen, "one two.");
}

TEST_F(LoopSocketTest, ClosingEndsAWait) {
  Pair pair(loop_, *set_);
  std::optional<ErrorCode> got;
  wait_for(pair.near, got);
  pair.near.close();
  run_until([&] { return got.has_value(); });
  EXPECT_EQ(*got, net::error::operation_aborted);
}

TEST_F(LoopSocketTest, WaitingForWhatIsAlreadyThereEndsAtOnce) {
  Pair pair(loop_, *set_);
  pair.send("abc");
  run_until([&] { return pair.near.maybe_readable(); });
  std::optional<ErrorCode> got;
  wait_for(pair.near, got);
  ASSERT_TRUE(got);
  EXPECT_FALSE(*got);
}

TEST_F(LoopSocketTest, ASocketClosedByAnotherOfItsBatchIsNotTold) {
  Pair first(loop_, *set_);
  Pair second(loop_, *set_);
  loop_.poll();
  int told = 0;
  first.near.on_readable([&] {
    ++told;
    second.near.close();
    return false;
  });
  second.near.on_readable([&] {
    ++told;
    first.near.close();
    return false;
  });
  first.send("x");
  second.send("y");
  run_until([&] { return told > 0; });
  loop_.poll();
  EXPECT_EQ(told, 1);
}

TEST_F(LoopSocketTest, AWriteBeyondTheSocketsRoomIsResumedWhenThePeerHasRead) {
  Pair pair(loop_, *set_);
  const std::string much(1u << 20, 'x');
  std::string_view part = much;
  std::size_t sent = 0;
  while (!ec_) sent += pair.near.write_some({&part, 1}, ec_);
  ASSERT_TRUE(is_would_block(ec_));
  bool resumed = false;
  net::co_spawn(
      loop_.get_executor(),
      [](LoopSocket& socket, bool& done) -> Task<void> {
        const auto [ec] = co_await socket.writable();
        done = !ec;
      }(pair.near, resumed),
      net::detached);
  loop_.poll();
  EXPECT_FALSE(resumed);
  std::string taken(sent, '\0');
  net::read(pair.far, net::buffer(taken));
  run_until([&] { return resumed; });
}

}  // namespace
}  // namespace fareway::testing
