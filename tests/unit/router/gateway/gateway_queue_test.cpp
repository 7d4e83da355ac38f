// Requests that no replica can take right now. A rule that lets one request at a time into the pool makes
// them wait, whatever the machine's speed.
#include <chrono>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/running_gateway.hpp"

namespace fareway::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void one_at_a_time(Config& config) {
  const RuleSet::Sizes sizes{.models = config.fleet.models.size(),
                             .classes = config.fleet.classes.size(),
                             .tenants = config.fleet.tenants.size(),
                             .pools = config.fleet.pools.size()};
  config.fleet.rules =
      RuleSet({{.name = "one", .action = RuleAction::kCap, .pools = {{0}}, .most_in_flight = 1}}, sizes);
}

/// An engine whose first answer comes when it is told to; all others at once.
class HeldEngine {
 public:
  std::uint16_t port() const { return backend_.port(); }
  std::vector<std::string> requests() const { return backend_.requests(); }
  void release() { released_.set_value(); }
  void wait_for_the_first() const {
    while (backend_.requests().empty()) std::this_thread::sleep_for(1ms);
  }

 private:
  std::promise<void> released_;
  std::shared_future<void> release_{released_.get_future().share()};
  std::atomic<bool> first_{true};
  ScriptedBackend backend_{[this](RawConnection& connection, ScriptedBackend& backend) {
    while (backend.take_request(connection)) {
      if (first_.exchange(false)) release_.wait_for(10s);
      connection.send(chat_answer(1, 1));
    }
  }};
};

class GatewayQueue : public ::testing::Test {
 protected:
  void start(std::function<void(Config&)> adjust = {}) {
    gateway_.emplace(RunningGateway::Options{.replicas = {engine_.port()}, .adjust = [&](Config& config) {
                                               one_at_a_time(config);
                                               if (adjust) adjust(config);
                                             }});
    first_.emplace(gateway_->connect());
    first_->send(post(kPlainBody));
    engine_.wait_for_the_first();
  }
  RawConnection asks(std::string_view extra = {}) {
    RawConnection client = gateway_->connect();
    client.send(post(kPlainBody, "/v1/chat/completions", extra));
    return client;
  }
  /// True once so many requests wait.
  bool waiting(std::size_t count) { return gateway_->waits_for_queue(count); }

  HeldEngine engine_;
  std::optional<RunningGateway> gateway_;
  std::optional<RawConnection> first_;
};

TEST_F(GatewayQueue, AWaitingRequestIsServedAsSoonAsThereIsRoom) {
  start();
  RawConnection second = asks();
  ASSERT_TRUE(waiting(1));
  EXPECT_THAT(engine_.requests(), SizeIs(1));
  engine_.release();
  EXPECT_EQ(read_answer(*first_).status(), 200);
  EXPECT_EQ(read_answer(second).status(), 200);
  EXPECT_THAT(gateway_->rows(2), SizeIs(2));
  EXPECT_TRUE(waiting(0));
  EXPECT_TRUE(gateway_->settles_down());
}

TEST_F(GatewayQueue, WhoLeavesIsForgottenAtOnceAndCostsNothing) {
  start();
  {
    RawConnection leaves = asks();
    ASSERT_TRUE(waiting(1));
  }
  ASSERT_TRUE(waiting(0));
  RawConnection third = asks();
  ASSERT_TRUE(waiting(1));
  engine_.release();
  EXPECT_EQ(read_answer(third).status(), 200);
  EXPECT_THAT(engine_.requests(), SizeIs(2)) << "the one that left was never sent";
  const SeenRow left = gateway_->rows(3).at(0);
  EXPECT_EQ(left.outcome, "client_closed");
  EXPECT_THAT(left.replicas, IsEmpty());
  EXPECT_EQ(left.price, std::nullopt);
  EXPECT_EQ(left.prompt, std::nullopt);
}

TEST_F(GatewayQueue, AFullQueueAnswers429WithATimeToComeBackAndWritesNoRow) {
  start([](Config& config) { config.queue.max_requests = 1; });
  RawConnection second = asks();
  ASSERT_TRUE(waiting(1));
  RawConnection third = asks();
  const RawAnswer answer = read_answer(third);
  EXPECT_EQ(answer.status(), 429);
  EXPECT_GE(std::stoi(answer.field("retry-after")), 1);
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"queue_full")"));
  EXPECT_THAT(answer.body, HasSubstr(R"("type":"rate_limit_error")"));
  engine_.release();
  EXPECT_EQ(read_answer(second).status(), 200);
  EXPECT_THAT(gateway_->rows(2), SizeIs(2));
}

TEST_F(GatewayQueue, NobodyWaitsLongerThanTheyMay) {
  start([](Config& config) { config.queue.max_wait = 100ms; });
  RawConnection second = asks();
  const RawAnswer answer = read_answer(second);
  EXPECT_EQ(answer.status(), 429);
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"waited_too_long")"));
  engine_.release();
  const SeenRow row = gateway_->rows(1).at(0);
  EXPECT_EQ(row.outcome, "failed");
  EXPECT_EQ(row.status, 429);
  EXPECT_THAT(row.replicas, IsEmpty());
}

TEST_F(GatewayQueue, AnthropicsClientsReadItAsARateLimit) {
  start([](Config& config) { config.queue.max_wait = 100ms; });
  RawConnection second = gateway_->connect();
  second.send(
      post(R"({"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]})", "/v1/messages"));
  const RawAnswer answer = read_answer(second);
  EXPECT_EQ(answer.status(), 429);
  EXPECT_THAT(answer.body, HasSubstr(R"("type":"rate_limit_error")"));
  engine_.release();
}

TEST_F(GatewayQueue, WhoWaitsWhenTheRouterDrainsIsStillServed) {
  start();
  RawConnection second = asks();
  ASSERT_TRUE(waiting(1));
  auto drained = std::async(std::launch::async, [&] { gateway_->drain_and_wait(); });
  EXPECT_EQ(drained.wait_for(50ms), std::future_status::timeout);
  engine_.release();
  EXPECT_EQ(read_answer(second).status(), 200);
  drained.get();
}

TEST_F(GatewayQueue, WhoStillWaitsWhenTheGraceTimeIsOverIsTold) {
  start();
  RawConnection second = asks();
  ASSERT_TRUE(waiting(1));
  gateway_->cut();
  const RawAnswer answer = read_answer(second);
  EXPECT_EQ(answer.status(), 503);
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"shutting_down")"));
  engine_.release();
}

TEST_F(GatewayQueue, WithoutAQueueNobodyWaits) {
  start([](Config& config) { config.queue.max_requests = 0; });
  RawConnection second = asks();
  const RawAnswer answer = read_answer(second);
  EXPECT_EQ(answer.status(), 429);
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"queue_full")"));
  engine_.release();
}

TEST_F(GatewayQueue, AGatewayThatGoesAwayLeavesARowForWhoWaits) {
  start();
  RawConnection second = asks();
  ASSERT_TRUE(waiting(1));
  engine_.release();
  gateway_.reset();
}

TEST_F(GatewayQueue, WhatOnlyHasADeadlineIsHeldForACheaperHour) {
  const auto soon = std::chrono::system_clock::now() + 400ms;
  engine_.release();
  start([&](Config& config) { config.price_schedules[0].push_back({soon, {1}}); });
  read_answer(*first_);
  RawConnection batch = asks("x-fareway-class: batch\r\n");
  EXPECT_EQ(read_answer(batch).status(), 200);
  EXPECT_GE(std::chrono::system_clock::now(), soon);
  RawConnection again = asks("x-fareway-class: batch\r\n");
  EXPECT_EQ(read_answer(again).status(), 200) << "prices do not change any more";
}

}  // namespace
}  // namespace fareway::testing
