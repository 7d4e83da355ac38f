// Retries, what counts against an engine, time limits, pooled connections.

#include <atomic>
#include <memory>
#include <vector>

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string status_answer(const std::string& status, const std::string& fields = {}) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\n" + fields +
         "Content-Length: 2\r\n\r\n{}";
}

/// Two engines: the first plays `script`, the second answers everything.
struct Pair {
  explicit Pair(ScriptedBackend::Script script, ScriptedBackend::Script healthy = streaming(whole_stream()))
      : first(std::move(script)), second(std::move(healthy)) {}
  ScriptedBackend first;
  ScriptedBackend second;
  RunningGateway gateway{{.replicas = {first.port(), second.port()}}};
};

TEST(KF07, A_NotAfterText) {
  Pair engines(breaking_off(std::string(kSseHead) + chunk(event("Hello "))));
  const RawAnswer answer = ask(engines.gateway);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(engines.second.requests(), IsEmpty());
  EXPECT_EQ(answer.body.find("Hello "), answer.body.rfind("Hello "));
}

TEST(KF07, B_HeadAloneMayBeTriedElsewhereSinceNothingWasSent) {
  Pair engines(breaking_off(std::string(kSseHead)));
  const RawAnswer answer = ask(engines.gateway);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body, event("hi") + finish_event() + std::string(kDone));
  EXPECT_THAT(engines.gateway.rows(1).at(0).replicas, ElementsAre("r0", "r1"));
}

TEST(KF07, C_RoleChunkThatWentOutIsNotFollowedByAnother) {
  Pair engines(breaking_off(std::string(kSseHead) + chunk(role_event())));
  const RawAnswer answer = ask(engines.gateway);
  EXPECT_EQ(answer.body.find("\"role\""), answer.body.rfind("\"role\""));
  EXPECT_EQ(answer.whole, engines.second.requests().size() == 1U);
}

TEST(KF07, D_NotAfterHalfAToolCall) {
  const std::string call =
      R"(data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]},)"
      "\"finish_reason\":null}]}\n\n";
  Pair engines(breaking_off(std::string(kSseHead) + chunk(call)));
  const RawAnswer answer = ask(engines.gateway);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(engines.second.requests(), IsEmpty());
}

TEST(KF07, E_PlainAnswerThatBreaksOffIsTriedElsewhereAndSeenOnce) {
  Pair engines(breaking_off("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"a\":"),
               ScriptedBackend::answering(chat_answer(1, 1)));
  const RawAnswer answer = ask(engines.gateway, kPlainBody);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_TRUE(answer.whole);
  EXPECT_THAT(answer.body, Not(HasSubstr("{\"a\":")));
}

TEST(KF08, A_RequestThatMayHaveBeenWorkedOnIsChargedForEachAttempt) {
  Pair engines(breaking_off(""), ScriptedBackend::answering(chat_answer(1, 1)));
  EXPECT_EQ(ask(engines.gateway, kPlainBody).status(), 200);
  EXPECT_EQ(engines.first.requests().size(), 1U) << "never the replica that has just failed";
  EXPECT_THAT(engines.gateway.rows(1).at(0).replicas, ElementsAre("r0", "r1"))
      << "the ledger shows both attempts";
}

TEST(KF08, B_RefusedConnectionSendsTheSameBodyElsewhere) {
  ScriptedBackend second(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {refused_port(), second.port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_THAT(second.requests().at(0), EndsWith(kPlainBody));
}

TEST(KF08, D_BusyEngineIsLeftForAnotherAndItsRetryAfterReachesTheClient) {
  const std::string busy = status_answer("503 Service Unavailable", "Retry-After: 30\r\n");
  Pair engines(ScriptedBackend::answering(busy), ScriptedBackend::answering(chat_answer(1, 1)));
  EXPECT_EQ(ask(engines.gateway, kPlainBody).status(), 200);
  ScriptedBackend alone(ScriptedBackend::answering(busy));
  RunningGateway gateway({.replicas = {alone.port()}});
  const RawAnswer answer = ask(gateway, kPlainBody);
  EXPECT_EQ(answer.status(), 503);
  EXPECT_EQ(answer.field("retry-after"), "30");
}

TEST(KF08, E_TooManyRequestsLikewise) {
  Pair engines(ScriptedBackend::answering(status_answer("429 Too Many Requests", "Retry-After: 1\r\n")),
               ScriptedBackend::answering(chat_answer(1, 1)));
  EXPECT_EQ(ask(engines.gateway, kPlainBody).status(), 200);
}

TEST(KF08, F_AttemptsOfOneRequestAreBounded) {
  std::vector<std::unique_ptr<ScriptedBackend>> engines;
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < 4; ++i) {
    engines.push_back(
        std::make_unique<ScriptedBackend>(ScriptedBackend::answering(status_answer("500 Oops"))));
    ports.push_back(engines.back()->port());
  }
  RunningGateway gateway(
      {.replicas = ports, .adjust = [](Config& config) { config.limits.max_attempts = 3; }});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 500);
  std::size_t attempts = 0;
  for (const auto& engine : engines) {
    EXPECT_LE(engine->requests().size(), 1U);
    attempts += engine->requests().size();
  }
  EXPECT_EQ(attempts, 3U);
}

/// Whether an engine that answers `answers` in turn is still in rotation after `count` requests.
bool stays_in_rotation(const std::vector<std::string>& answers, int count) {
  std::atomic<std::size_t> next{0};
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    while (backend.take_request(connection)) connection.send(answers[next++ % answers.size()]);
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  for (int i = 0; i < count; ++i) ask(gateway, kPlainBody);
  return gateway.in_rotation(0);
}

TEST(KF09, A_AnswersOf400BlameTheRequest) {
  EXPECT_TRUE(stays_in_rotation({status_answer("400 Bad Request")}, 20));
}

TEST(KF09, B_SoDoOtherAnswersOf4xx) {
  for (const char* status : {"404 Not Found", "422 Unprocessable Entity", "413 Too Large"})
    EXPECT_TRUE(stays_in_rotation({status_answer(status)}, 20)) << status;
}

TEST(KF09, C_BusyIsAlive) {
  EXPECT_TRUE(stays_in_rotation({status_answer("503 Service Unavailable", "Retry-After: 1\r\n")}, 20));
}

TEST(KF09, D_AnswersOf400DoNotWashAwayThoseOf500) {
  EXPECT_FALSE(stays_in_rotation({status_answer("500 Oops"), status_answer("400 Bad Request")}, 10));
}

TEST(KF09, F_ClientsThatLeaveBlameNobody) {
  ScriptedBackend engine([](RawConnection& connection, ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    connection.send(std::string(kSseHead) + chunk(event("x")));
    connection.closes_within(5s);
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  for (int i = 0; i < 20; ++i) {
    RawConnection client = gateway.connect();
    client.send(post(kStreamBody));
    client.read_until(event("x"));
  }
  EXPECT_EQ(gateway.rows(20).size(), 20U);
  EXPECT_TRUE(gateway.in_rotation(0));
}

TEST(KF09, G_FiveAnswersOf500TakeItOut) {
  EXPECT_FALSE(stays_in_rotation({status_answer("500 Oops")}, 5));
}

TEST(KF09, H_FiveResetsInMidStreamTakeItOut) {
  ScriptedBackend engine(breaking_off(std::string(kSseHead) + chunk(event("x"))));
  RunningGateway gateway({.replicas = {engine.port()}});
  for (int i = 0; i < 5; ++i) ask(gateway);
  EXPECT_FALSE(gateway.in_rotation(0));
}

TEST(KF10, A_StreamThatFlowsIsNotKilledByTheIdleLimit) {
  ScriptedBackend engine([](RawConnection& connection, ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    connection.send(kSseHead);
    for (int i = 0; i < 12; ++i) {
      std::this_thread::sleep_for(50ms);
      connection.send(chunk(event("x")));
    }
    connection.send(whole_stream());
  });
  RunningGateway gateway({.replicas = {engine.port()}, .adjust = [](Config& config) {
                            config.limits.idle_timeout = 300ms;
                            config.limits.first_byte_timeout = 300ms;
                            config.limits.connect_timeout = 300ms;
                          }});
  const RawAnswer answer = ask(gateway);
  EXPECT_TRUE(answer.whole);
  EXPECT_THAT(answer.body, HasSubstr("[DONE]"));
}

TEST(KF10, E_FirstEventThatNeverComesIsA504AndTheEngineIsStopped) {
  Held silent;
  ScriptedBackend engine(silent.script(""));
  RunningGateway gateway({.replicas = {engine.port()},
                          .adjust = [](Config& config) { config.limits.first_byte_timeout = 150ms; }});
  const RawAnswer answer = ask(gateway);
  EXPECT_EQ(answer.status(), 504);
  EXPECT_THAT(answer.body, HasSubstr("first_byte_timeout"));
  EXPECT_TRUE(silent.closed.get_future().get());
}

TEST(KF11, B_EngineThatEndsAfterItsAnswer) {
  ScriptedBackend engine(breaking_off(chat_answer(1, 1), Ending::kFin));
  RunningGateway gateway({.replicas = {engine.port()}});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
}

TEST(KF11, C_EngineThatSaysItCloses) {
  std::string closing = chat_answer(1, 1);
  closing.insert(closing.find("\r\n") + 2, "Connection: close\r\n");
  ScriptedBackend engine(ScriptedBackend::answering(closing));
  RunningGateway gateway({.replicas = {engine.port()}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_EQ(engine.connections(), 5);
}

TEST(KF11, D_AnswerNobodyAskedForIsMatchedToNoRequest) {
  ScriptedBackend engine(ScriptedBackend::answering(
      chat_answer(1, 1) + "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"));
  RunningGateway gateway({.replicas = {engine.port()}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
}

TEST(KF11, F_BytesBehindAWholeAnswerCostTheConnection) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1) + "xyz"));
  RunningGateway gateway({.replicas = {engine.port()}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_EQ(engine.connections(), 5);
}

}  // namespace
}  // namespace fareway::testing
