// Streams that break off, and clients that leave.

#include <atomic>
#include <vector>

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Broken {
  RawAnswer answer;
  std::string outcome;
};

Broken broken(const ScriptedBackend::Script& script, std::string_view body = kStreamBody) {
  ScriptedBackend engine(script);
  RunningGateway gateway({.replicas = {engine.port()}});
  Broken seen;
  seen.answer = ask(gateway, body);
  seen.outcome = gateway.rows(1).at(0).outcome;
  return seen;
}

const std::string kBegun = std::string(kSseHead) + chunk(event("A")) + chunk(event("B"));

void expect_seen_to_be_broken(const Broken& seen) {
  EXPECT_FALSE(seen.answer.whole);
  EXPECT_THAT(seen.answer.body, HasSubstr("\ndata: {\"error\":{"));
  EXPECT_THAT(seen.answer.body, Not(HasSubstr("[DONE]")));
  EXPECT_THAT(seen.answer.body, Not(HasSubstr("\"finish_reason\":\"stop\"")));
  EXPECT_EQ(seen.outcome, "incomplete");
}

TEST(KF04, A_Reset) {
  expect_seen_to_be_broken(broken(breaking_off(kBegun)));
}

TEST(KF04, B_EndOfTheConnectionWithoutTheLastChunk) {
  expect_seen_to_be_broken(broken(breaking_off(kBegun, Ending::kFin)));
}

TEST(KF04, C_CleanEndWithoutAFinishIsRelayedAndNoSuccess) {
  const Broken seen = broken(streaming(chunk(event("A")) + std::string(kLast)));
  EXPECT_TRUE(seen.answer.whole);
  EXPECT_EQ(seen.answer.body, event("A"));
  EXPECT_EQ(seen.outcome, "incomplete");
}

TEST(KF04, D_FinishedWithoutTheDoneMarkIsASuccess) {
  const Broken seen = broken(
      streaming(chunk(event("A")) + chunk(finish_event()) + chunk(usage_event(1, 1)) + std::string(kLast)));
  EXPECT_TRUE(seen.answer.whole);
  EXPECT_EQ(seen.outcome, "complete");
}

TEST(KF04, E_HalfAnEventDoesNotSpoilTheError) {
  const Broken seen = broken(breaking_off(kBegun + chunk("data: {\"choices\":[{\"ind")));
  expect_seen_to_be_broken(seen);
  const std::size_t error = seen.answer.body.find("data: {\"error\"");
  ASSERT_NE(error, std::string::npos);
  EXPECT_EQ(seen.answer.body.substr(error - 2, 2), "\n\n") << "the error event stands alone";
}

TEST(KF04, F_PlainAnswerCutShortIsNoAnswer) {
  const Broken seen =
      broken(breaking_off("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                          "500\r\n\r\n{\"choices\":[",
                          Ending::kFin),
             kPlainBody);
  EXPECT_EQ(seen.answer.status(), 502);
  EXPECT_EQ(seen.outcome, "failed");
}

TEST(KF04, G_PlainAnswerWithoutAByteIsA502) {
  const Broken seen =
      broken(breaking_off("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", Ending::kFin), kPlainBody);
  EXPECT_EQ(seen.answer.status(), 502);
  EXPECT_EQ(seen.outcome, "failed");
}

/// The client asks, reads up to `mark`, and leaves; the engine must notice within a second.
void leave_behind(std::string_view body, std::string_view path, std::string sent, std::string_view mark,
                  bool by_reset = false) {
  Held engine_side;
  ScriptedBackend engine(engine_side.script(std::move(sent)));
  RunningGateway gateway({.replicas = {engine.port()}});
  {
    RawConnection client = gateway.connect();
    client.send(post(body, path));
    if (mark.empty()) {
      while (engine.requests().empty()) std::this_thread::sleep_for(1ms);
    } else {
      client.read_until(mark);
    }
    if (by_reset) client.reset();
  }
  auto closed = engine_side.closed.get_future();
  ASSERT_EQ(closed.wait_for(1s), std::future_status::ready);
  EXPECT_TRUE(closed.get());
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "client_closed");
  EXPECT_TRUE(gateway.in_rotation(0)) << "not the engine's fault";
  EXPECT_TRUE(gateway.settles_down());
  EXPECT_EQ(engine.connections(), 1) << "not retried, and not used again";
}

TEST(KF05, A_ClientCloses) {
  leave_behind(kStreamBody, "/v1/chat/completions", kBegun, event("B"));
}

TEST(KF05, B_ClientResets) {
  leave_behind(kStreamBody, "/v1/chat/completions", kBegun, event("B"), true);
}

TEST(KF05, C_OnEveryStreamingRoute) {
  leave_behind(R"({"model":"m","prompt":"hi","stream":true})", "/v1/completions",
               std::string(kSseHead) + chunk("data: {\"choices\":[{\"index\":0,\"text\":\"x\"}]}\n\n"),
               "\"x\"");
  leave_behind(R"({"model":"m","input":"hi","stream":true})", "/v1/responses",
               std::string(kSseHead) +
                   chunk("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","
                         "\"delta\":\"x\"}\n\n"),
               "\"x\"");
  leave_behind(R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true})",
               "/v1/messages",
               std::string(kSseHead) +
                   chunk("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
                         "\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n"),
               "\"x\"");
}

TEST(KF05, D_ManyAtOnce) {
  std::atomic<int> closed{0};
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    connection.send(kBegun);
    if (connection.closes_within(5s)) ++closed;
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  constexpr int kClients = 40;
  {
    std::vector<RawConnection> clients;
    for (int i = 0; i < kClients; ++i) {
      clients.push_back(gateway.connect());
      clients.back().send(post(kStreamBody));
    }
    for (RawConnection& client : clients) client.read_until(event("B"));
  }
  const auto rows = gateway.rows(kClients);
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(kClients));
  for (const SeenRow& row : rows) EXPECT_EQ(row.outcome, "client_closed");
  EXPECT_TRUE(gateway.settles_down());
  for (int i = 0; i < 1000 && closed < kClients; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(closed, kClients);
}

TEST(KF06, A_ClientOfAStreamLeavesDuringPrefill) {
  leave_behind(kStreamBody, "/v1/chat/completions", "", "");
}

TEST(KF06, B_ClientOfAPlainAnswerLeaves) {
  leave_behind(kPlainBody, "/v1/chat/completions", "", "");
}

TEST(KF06, F_ClientThatLeavesWhileItSendsIsForwardedToNobody) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  {
    RawConnection client = gateway.connect();
    client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
                std::string(kKey) + "\r\nContent-Length: 20000000\r\n\r\n" + std::string(1'000'000, ' '));
  }
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_EQ(gateway.rows(1).size(), 1U) << "only the second request";
  EXPECT_EQ(engine.requests().size(), 1U);
}

}  // namespace
}  // namespace fareway::testing
