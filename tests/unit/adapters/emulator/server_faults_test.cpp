#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/emulator/running_engine.hpp"

namespace fareway::emulator::testing {
namespace {

using ::testing::EndsWith;

TEST_F(Emulator, FailsWithAStatusAsOftenAsTold) {
  EXPECT_EQ(post(kFault, R"({"kind":"status","status":429,"count":2})").status, 200U);
  const Reply failed = post(kChat, chat(1));
  EXPECT_EQ(failed.status, 429U);
  EXPECT_EQ(failed.json()["error"]["code"], 429);
  EXPECT_EQ(post(kChat, chat(1)).status, 429U);
  EXPECT_EQ(post(kChat, chat(1)).status, 200U);
  EXPECT_EQ(post(kFault, R"({"kind":"boom"})").status, 400U);
}

TEST_F(Emulator, ResetsAConnectionBeforeTheFirstByteOrInMidStream) {
  post(kFault, R"({"kind":"reset"})");
  EXPECT_THROW(post(kChat, chat(5)), boost::system::system_error);
  EXPECT_THROW(post(kChat, chat(5, kStream)), boost::system::system_error);
  post(kFault, R"({"kind":"reset","after_events":3})");
  Client client(port());
  client.send("POST", kChat, chat(50, kStream));
  EXPECT_THROW(client.read_until("[DONE]"), boost::system::system_error);
  wait_for(port(), "vllm:num_requests_running", 0);
  EXPECT_EQ(call(port(), "DELETE", kFault).status, 200U);
  EXPECT_EQ(post(kChat, chat(5)).status, 200U);
}

TEST_F(Emulator, AnswersGarbage) {
  post(kFault, R"({"kind":"garbage","after_events":2})");
  const Reply reply = post(kChat, chat(5));
  EXPECT_EQ(reply.status, 200U);
  EXPECT_FALSE(nlohmann::json::accept(reply.body));
  const auto events = events_of(post(kChat, chat(5, kStream)).body);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_TRUE(nlohmann::json::accept(events[1].data));
  EXPECT_FALSE(nlohmann::json::accept(events[2].data));
}

TEST_F(Emulator, IsUnhealthyButServes) {
  post(kFault, R"({"kind":"unhealthy"})");
  EXPECT_EQ(get("/health").status, 503U);
  EXPECT_EQ(post(kChat, chat(1)).status, 200U);
  call(port(), "DELETE", kFault);
  EXPECT_EQ(get("/health").status, 200U);
}

TEST_F(Emulator, HangsWhileItSaysItIsHealthyAndGoesOnAfterwards) {
  post(kFault, R"({"kind":"hang"})");
  Client client(port());
  client.send("POST", kChat, chat(2, kStream));
  EXPECT_THAT(client.read_until("\r\n\r\n"), EndsWith("\r\n\r\n"));  // the head, and no token
  EXPECT_EQ(get("/health").status, 200U);
  wait_for(port(), "vllm:num_requests_running", 1);
  call(port(), "DELETE", kFault);
  EXPECT_EQ(events_of(client.receive().body).back().data, "[DONE]");
}

TEST_F(Emulator, SlowsDownByTheFactor) {
  const auto seconds_of = [&] {
    const auto began = std::chrono::steady_clock::now();
    post(kChat, chat(20));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  post(kFault, R"({"kind":"slow","factor":1000})");
  EXPECT_GT(seconds_of(), 0.2);  // 20 steps of 11 ms at the least; without the fault 0.2 ms
}

TEST_F(Emulator, RefusesConnectionsAfterSoManyRequests) {
  Client control(port());
  control.call("POST", kFault, R"({"kind":"refuse_after","count":1})");
  EXPECT_FALSE(refuses(port()));
  EXPECT_EQ(control.call("POST", kChat, chat(1)).status, 200U);
  EXPECT_TRUE(refuses(port()));
  EXPECT_EQ(control.call("DELETE", kFault).status, 200U);
  EXPECT_EQ(post(kChat, chat(1)).status, 200U);
}

TEST_F(Emulator, ListensAgainWhenTheFaultHasRunItsTime) {
  post(kFault, R"({"kind":"refuse_after","count":0,"for_seconds":0.05})");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (refuses(port()) && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(post(kChat, chat(1)).status, 200U);
}

}  // namespace
}  // namespace fareway::emulator::testing
