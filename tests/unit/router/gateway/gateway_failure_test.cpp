// What goes wrong behind and in front of the gateway: engines that refuse, break off or go silent, clients
// that leave.
#include <atomic>
#include <future>
#include <poll.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(GatewayRetry, GoesToAnotherReplicaWhereTheFirstOneRefusesTheConnection) {
  ScriptedBackend second(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {refused_port(), second.port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  const SeenRow row = gateway.rows(1).at(0);
  EXPECT_THAT(row.replicas, ElementsAre("r0", "r1"));
  EXPECT_FALSE(gateway.in_rotation(0));
}

TEST(GatewayRetry, SendsTheSameBodyAndTheRightKeyToTheSecondReplica) {
  ScriptedBackend first(breaking_off(""));
  ScriptedBackend second(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {first.port(), second.port()}, .adjust = [](Config& config) {
                            config.access[0].endpoint.api_key = "sk-first";
                            config.access[1].endpoint.api_key = "sk-second";
                          }});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_THAT(first.requests().at(0), HasSubstr("Bearer sk-first\r\n"));
  EXPECT_THAT(second.requests().at(0), HasSubstr("Bearer sk-second\r\n"));
  EXPECT_THAT(second.requests().at(0), Not(HasSubstr("sk-first")));
  EXPECT_THAT(second.requests().at(0), EndsWith(kPlainBody));
}

TEST(GatewayRetry, TriesElsewhereOnAnEnginesErrorStatusAndInTheEndRelaysIt) {
  const std::string busy =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 30\r\nContent-Length: 9\r\n\r\nat 10.0.0";
  ScriptedBackend first(ScriptedBackend::answering(busy));
  ScriptedBackend second(ScriptedBackend::answering(chat_answer(1, 1)));
  {
    RunningGateway gateway({.replicas = {first.port(), second.port()}});
    EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
    EXPECT_TRUE(gateway.in_rotation(0));
  }
  RunningGateway alone({.replicas = {first.port()}});
  const RawAnswer answer = ask(alone, kPlainBody);
  EXPECT_EQ(answer.status(), 503);
  EXPECT_EQ(answer.field("retry-after"), "30");
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"engine_error")"));
  EXPECT_THAT(answer.body, Not(HasSubstr("10.0.0")));
  const SeenRow row = alone.rows(1).at(0);
  EXPECT_EQ(row.outcome, "engine_error");
  EXPECT_EQ(row.status, 503);
  EXPECT_EQ(row.price, std::nullopt);
}

TEST(GatewayRetry, HoldsAStreamsFirstEventBackUntilItIsNoRefusal) {
  const std::string refusal = "data: {\"error\":{\"message\":\"queue full\",\"code\":503}}\n\n";
  ScriptedBackend first(
      ScriptedBackend::answering(std::string(kSseHead) + chunk(refusal) + chunk(kDone) + std::string(kLast)));
  ScriptedBackend second(ScriptedBackend::answering(
      std::string(kSseHead) + chunk(event("a") + finish_event()) + chunk(kDone) + std::string(kLast)));
  RunningGateway gateway({.replicas = {first.port(), second.port()}});
  EXPECT_EQ(ask(gateway, kStreamBody).body, event("a") + finish_event() + std::string(kDone));
}

TEST(GatewayRetry, RelaysARequestsOwnErrorAndBlamesNobody) {
  const std::string body = R"({"error":{"message":"bad top_p"}})";
  ScriptedBackend engine(ScriptedBackend::answering(
      "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nServer: uvicorn\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body));
  ScriptedBackend second(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port(), second.port()}});
  for (int round = 0; round < 10; ++round) {
    const RawAnswer answer = ask(gateway, kPlainBody);
    EXPECT_EQ(answer.status(), 400);
    EXPECT_EQ(answer.body, body);
    EXPECT_EQ(answer.field("server"), "");
  }
  EXPECT_TRUE(gateway.in_rotation(0));
  EXPECT_THAT(second.requests(), IsEmpty());
}

TEST(GatewayRetry, AnswersBadGatewayWhereTheRoutersOwnKeyIsRejected) {
  ScriptedBackend engine(
      ScriptedBackend::answering("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}"));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 502);
}

TEST(GatewayBrokenStream, IsNeverRetriedAndNeverLooksComplete) {
  ScriptedBackend first(breaking_off(std::string(kSseHead) + chunk(event("A")) + chunk(event("B"))));
  ScriptedBackend second(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {first.port(), second.port()}});
  const RawAnswer answer = ask(gateway, kStreamBody);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(answer.body, ::testing::StartsWith(event("A") + event("B") + "data: {\"error\":{"));
  EXPECT_THAT(answer.body, Not(HasSubstr("[DONE]")));
  EXPECT_THAT(second.requests(), IsEmpty());
  const SeenRow row = gateway.rows(1).at(0);
  EXPECT_EQ(row.outcome, "incomplete");
  EXPECT_EQ(row.usage_source, "counted");
  EXPECT_EQ(row.completion, 2);
}

TEST(GatewayBrokenStream, ShowsNoHalfEvent) {
  ScriptedBackend engine(
      breaking_off(std::string(kSseHead) + chunk(event("A")) + chunk("data: {\"choices\":[{\"ind")));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway, kStreamBody);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(answer.body, ::testing::StartsWith(event("A") + "data: {\"error\":{"));
}

TEST(GatewayBrokenStream, WithoutFinishReasonIsRelayedAndCountsAsIncomplete) {
  ScriptedBackend engine(
      ScriptedBackend::answering(std::string(kSseHead) + chunk(event("A")) + std::string(kLast)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway, kStreamBody);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body, event("A"));
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "incomplete");
}

TEST(GatewayBrokenStream, OfNothingButKeepAlivesIsNoAnswer) {
  ScriptedBackend engine(
      ScriptedBackend::answering(std::string(kSseHead) + chunk(": ping\n\n") + std::string(kLast)));
  ScriptedBackend second(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port(), second.port()}});
  const RawAnswer answer = ask(gateway, kStreamBody);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(answer.body, ::testing::StartsWith(": ping\n\ndata: {\"error\":{"));
  EXPECT_THAT(second.requests(), IsEmpty());  // a byte has gone out
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "incomplete");
}

TEST(GatewayBrokenStream, WithoutDoneMarkButFinishedIsComplete) {
  ScriptedBackend engine(ScriptedBackend::answering(
      std::string(kSseHead) + chunk(event("A") + finish_event() + usage_event(3, 1)) + std::string(kLast)));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, kStreamBody).body, event("A") + finish_event());
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "complete");
}

TEST(GatewayBrokenStream, ThatEndsByClosingTooEarlyIsToldFromOneThatEndsWell) {
  const std::string head = "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  ScriptedBackend good(breaking_off(head + event("A") + finish_event() + std::string(kDone), Ending::kFin));
  ScriptedBackend bad(breaking_off(head + event("A"), Ending::kFin));
  RunningGateway well({.replicas = {good.port()}});
  EXPECT_TRUE(ask(well, kStreamBody).whole);
  RunningGateway early({.replicas = {bad.port()}});
  EXPECT_FALSE(ask(early, kStreamBody).whole);
  EXPECT_EQ(early.rows(1).at(0).outcome, "incomplete");
}

TEST(GatewayBrokenAnswer, OfKnownLengthIsNotPassedOffAsWhole) {
  ScriptedBackend engine(breaking_off("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"a\":", Ending::kFin));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 502);
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "failed");
}

TEST(GatewayTimeouts, NameTheLimitThatPassed) {
  Held silent;
  ScriptedBackend engine(silent.script(""));
  RunningGateway gateway({.replicas = {engine.port()},
                          .adjust = [](Config& config) { config.limits.first_byte_timeout = 150ms; }});
  const RawAnswer answer = ask(gateway, kPlainBody);
  EXPECT_EQ(answer.status(), 504);
  EXPECT_THAT(answer.body, HasSubstr(R"("code":"first_byte_timeout")"));
  EXPECT_TRUE(silent.closed.get_future().get());
}

TEST(GatewayTimeouts, DoNotTakeKeepAlivesForAFirstToken) {
  Held pinging;
  ScriptedBackend engine(pinging.script(std::string(kSseHead) + chunk(": ping\n\n")));
  RunningGateway gateway(
      {.replicas = {engine.port()}, .adjust = [](Config& config) { config.limits.first_byte_timeout = 1s; }});
  const RawAnswer answer = ask(gateway, kStreamBody);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(answer.body, HasSubstr("first_byte_timeout"));
}

TEST(GatewayTimeouts, EndAStreamThatGoesSilent) {
  Held silent;
  ScriptedBackend engine(silent.script(std::string(kSseHead) + chunk(event("A"))));
  RunningGateway gateway(
      {.replicas = {engine.port()}, .adjust = [](Config& config) { config.limits.idle_timeout = 150ms; }});
  const RawAnswer answer = ask(gateway, kStreamBody);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(answer.body, HasSubstr("idle_timeout"));
  EXPECT_EQ(gateway.rows(1).at(0).completion, 1);
}

void leave_in_mid_stream(bool by_reset) {
  Held watched;
  ScriptedBackend engine(watched.script(std::string(kSseHead) + chunk(event("A")) + chunk(event("B"))));
  RunningGateway gateway({.replicas = {engine.port()}});
  {
    RawConnection client = gateway.connect();
    client.send(post(kStreamBody));
    client.read_until(event("B"));
    if (by_reset) client.reset();
  }
  auto closed = watched.closed.get_future();
  ASSERT_EQ(closed.wait_for(1s), std::future_status::ready);
  EXPECT_TRUE(closed.get());
  const std::vector<SeenRow> rows = gateway.rows(1);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].outcome, "client_closed");
  EXPECT_EQ(rows[0].completion, 2);
  EXPECT_TRUE(gateway.in_rotation(0));
  EXPECT_TRUE(gateway.settles_down());
}
TEST(GatewayClientLeaves, ClosesTheEnginesConnectionWithinASecond) {
  leave_in_mid_stream(false);
}
TEST(GatewayClientLeaves, ByResetToo) {
  leave_in_mid_stream(true);
}

TEST(GatewayClientLeaves, BeforeTheFirstByteAndIsChargedNothing) {
  Held watched;
  ScriptedBackend engine(watched.script(""));
  RunningGateway gateway({.replicas = {engine.port()}});
  {
    RawConnection client = gateway.connect();
    client.send(post(kPlainBody));
    while (engine.requests().empty()) std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(watched.closed.get_future().get());
  const SeenRow row = gateway.rows(1).at(0);
  EXPECT_EQ(row.outcome, "client_closed");
  EXPECT_EQ(row.status, 0);
  EXPECT_EQ(row.price, std::nullopt);
}

TEST(GatewaySlowReader, StopsTheEngineInsteadOfFillingMemory) {
  std::promise<std::size_t> taken;
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    backend.take_request(connection);
    connection.send(kSseHead);
    const std::string piece = chunk(event(std::string(8192, 'x')));
    std::size_t sent = 0;
    constexpr std::size_t kEnough = 64u << 20;
    while (sent < kEnough) {
      pollfd ready{connection.socket(), POLLOUT, 0};
      if (::poll(&ready, 1, 500) <= 0) break;  // nobody takes more
      if (!connection.send(piece)) break;
      sent += piece.size();
    }
    taken.set_value(sent);
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  client.read_until("\r\n\r\n");
  EXPECT_LT(taken.get_future().get(), 32u << 20);  // what the kernel's four socket buffers hold
}

TEST(GatewaySlowReader, IsDroppedOnceItTakesNothingForTooLong) {
  std::promise<bool> closed;
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    backend.take_request(connection);
    connection.send(kSseHead);
    while (connection.send(chunk(event(std::string(8192, 'x'))))) {
    }
    closed.set_value(true);
  });
  RunningGateway gateway({.replicas = {engine.port()},
                          .adjust = [](Config& config) { config.limits.write_stall_timeout = 150ms; }});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  EXPECT_TRUE(closed.get_future().get());
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "client_closed");
}

TEST(GatewayPool, DoesNotReuseAConnectionThatTheEngineClosed) {
  ScriptedBackend engine(breaking_off(chat_answer(1, 1), Ending::kFin));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  for (int round = 0; round < 5; ++round) {
    client.send(post(kPlainBody));
    EXPECT_EQ(read_answer(client).status(), 200);
    while (engine.connections() <= round) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(5ms);  // lets the engine's FIN arrive, as it does between two requests
  }
  EXPECT_EQ(engine.connections(), 5);
}

TEST(GatewayPool, DropsAConnectionWithBytesNobodyAskedFor) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1) + "HTTP/1.1 408 Timeout\r\n\r\n"));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_EQ(engine.connections(), 2);
}

TEST(GatewayDrain, LetsAStreamFinishAndTakesNothingNew) {
  std::promise<void> go_on;
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    backend.take_request(connection);
    connection.send(std::string(kSseHead) + chunk(event("A")));
    go_on.get_future().wait();
    connection.send(chunk(finish_event()) + chunk(kDone) + std::string(kLast));
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection idle = gateway.connect();
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  client.read_until(event("A"));
  std::thread drainer([&] { gateway.drain_and_wait(); });
  EXPECT_TRUE(idle.closes_within(2s));
  EXPECT_THROW(gateway.connect(), std::runtime_error);
  go_on.set_value();
  EXPECT_THAT(client.read_to_end(), EndsWith("[DONE]\n\n\r\n0\r\n\r\n"));
  drainer.join();
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "complete");
}

TEST(GatewayDrain, CutsWhatIsLeftAsAnError) {
  Held watched;
  ScriptedBackend engine(watched.script(std::string(kSseHead) + chunk(event("A"))));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  client.read_until(event("A"));
  gateway.cut();
  const std::string rest = client.read_to_end();
  EXPECT_THAT(rest, HasSubstr("shutting_down"));
  EXPECT_THAT(rest, Not(EndsWith("0\r\n\r\n")));
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "incomplete");
}

TEST(GatewayRefusal, OfARequestThatNobodyCanTakeLeavesNoRow) {
  RunningGateway gateway({.replicas = {refused_port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 502);  // admitted, and the only replica is gone
  const RawAnswer answer = ask(gateway, kPlainBody);
  EXPECT_EQ(answer.status(), 503);
  EXPECT_EQ(answer.field("retry-after"), "1");
  EXPECT_THAT(answer.body, HasSubstr("no_replica_available"));
  EXPECT_EQ(gateway.rows(1).size(), 1u);
}

TEST(GatewayRefusal, TellsAPromptThatFitsNowhere) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const std::string body = R"({"model":"m","messages":[],"max_tokens":200000})";
  const RawAnswer answer = ask(gateway, body);
  EXPECT_EQ(answer.status(), 400);
  EXPECT_THAT(answer.body, HasSubstr("context_length_exceeded"));
  EXPECT_THAT(engine.requests(), IsEmpty());
}

}  // namespace
}  // namespace fareway::testing
