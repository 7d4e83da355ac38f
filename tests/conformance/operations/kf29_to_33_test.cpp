// Series that clients could make, memory that engines could take, and the end of the process.

#include <algorithm>
#include <vector>

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

std::ptrdiff_t lines_of(const std::string& page) {
  return std::ranges::count(page, '\n');
}

TEST(KF29, A_NamesPathsMethodsAndKeysOfClientsMakeNoSeries) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const auto noise = [&](int i) {
    const std::string n = std::to_string(i);
    ask(gateway, R"({"model":"made-up-)" + n + R"(","messages":[]})");
    ask(gateway, kPlainBody, "/v1/made-up-" + n);
    RawConnection client = gateway.connect();
    client.send("GRAB" + n + " /v1/models HTTP/1.1\r\nHost: x\r\nUser-Agent: made-up-" + n +
                "\r\nAuthorization: Bearer made-up-" + n + "\r\n\r\n");
    read_answer(client);
  };
  for (int i = 0; i < 5; ++i) noise(i);
  const std::string before = gateway.metrics_page();
  for (int i = 5; i < 50; ++i) noise(i);
  const std::string after = gateway.metrics_page();
  EXPECT_EQ(lines_of(after), lines_of(before));
  EXPECT_THAT(after, Not(HasSubstr("made-up")));
}

TEST(KF29, B_NamesWithQuotesAndLineFeedsLeaveThePageReadable) {
  RunningGateway gateway({.replicas = {refused_port()}});
  for (const char* name : {R"(a\"b)", R"(a\\b)", R"(a\nb{e=\"f\"} 1)", "\xf0\x9f\x98\x80", "\xff\xfe"})
    ask(gateway, R"({"messages":[],"model":")" + std::string(name) + "\"}");
  const std::string page = gateway.metrics_page();
  EXPECT_THAT(page, Not(HasSubstr("e=\"f\"")));
  EXPECT_THAT(page, Not(HasSubstr("\xff")));
}

TEST(KF30, A_B_BucketsReachBeyondTheLongestRequest) {
  RunningGateway gateway({.replicas = {refused_port()}});
  const std::string page = gateway.metrics_page();
  for (const char* bound : {"fareway_gateway_request_duration_seconds_bucket{",
                            "fareway_gateway_ttft_seconds_bucket{", "fareway_gateway_tpot_seconds_bucket{"})
    EXPECT_THAT(page, HasSubstr(bound));
  EXPECT_THAT(page, HasSubstr("le=\"600\""));
  EXPECT_THAT(page, HasSubstr("le=\"3600\""));
}

/// A stream that is `piece` over and over, `bytes` in all or until nobody takes it, then the usual end.
ScriptedBackend::Script endless(std::string begin, std::string piece, std::size_t bytes) {
  return [begin = std::move(begin), piece = std::move(piece), bytes](RawConnection& connection,
                                                                     ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    connection.send(std::string(kSseHead) + chunk(begin));
    const std::string framed = chunk(piece);
    for (std::size_t sent = 0; sent < bytes; sent += piece.size())
      if (!connection.send(framed)) return;
    connection.send(chunk("\n\n") + whole_stream());
  };
}

TEST(KF32, D_LineWithoutEndIsRelayedAsBytesOrEnded) {
  ScriptedBackend engine(endless("data: ", std::string(64 << 10, 'x'), 24u << 20));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway);
  const bool relayed = answer.whole && answer.body.size() > (24u << 20);
  const bool ended = !answer.whole && answer.body.find("\"error\"") != std::string::npos;
  EXPECT_TRUE(relayed || ended);
  EXPECT_TRUE(gateway.settles_down());
}

TEST(KF32, E_EventOfSixteenMegabytesArrivesWhole) {
  const std::string begin = R"(data: {"choices":[{"index":0,"delta":{"content":")";
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    connection.send(std::string(kSseHead) + chunk(begin));
    for (int i = 0; i < 256; ++i) connection.send(chunk(std::string(64 << 10, 'x')));
    connection.send(chunk("\"}}]}\n\n") + whole_stream());
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway);
  EXPECT_TRUE(answer.whole);
  EXPECT_GT(answer.body.size(), 16u << 20);
}

TEST(KF32, G_HeadOfAnEngineWithoutEndIsA502) {
  ScriptedBackend engine([](RawConnection& connection, ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    connection.send("HTTP/1.1 200 OK\r\n");
    const std::string line = "X-Padding: " + std::string(1000, 'x') + "\r\n";
    for (int i = 0; i < 2000 && connection.send(line); ++i) {
    }
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway).status(), 502);
}

TEST(KF32, H_LargePlainAnswerStreamsThrough) {
  const std::string body = R"({"choices":[],"x":")" + std::string(40'000'000, 'x') + "\"}";
  ScriptedBackend engine(ScriptedBackend::answering(json_answer(body)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway, kPlainBody);
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(answer.body == body);
}

TEST(KF33, A_WhatWaitsForItsFirstByteFinishesDuringTheDrain) {
  std::promise<void> go_on;
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    go_on.get_future().wait();
    connection.send(std::string(kSseHead) + whole_stream());
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection idle = gateway.connect();
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  while (engine.requests().empty()) std::this_thread::sleep_for(1ms);
  std::thread drain([&] { gateway.drain_and_wait(); });
  EXPECT_TRUE(idle.closes_within(2s)) << "idle connections are closed";
  go_on.set_value();
  EXPECT_THAT(client.read_to_end(), HasSubstr("[DONE]"));
  drain.join();
  EXPECT_EQ(gateway.rows(1).at(0).outcome, "complete");
}

}  // namespace
}  // namespace fareway::testing
