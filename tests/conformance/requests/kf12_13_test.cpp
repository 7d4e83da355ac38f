// Two framings in one message, and engines with old or odd framing.

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string head_with(std::string_view lines, std::string_view version = "1.1") {
  return "POST /v1/chat/completions HTTP/" + std::string(version) + "\r\nHost: x\r\nAuthorization: Bearer " +
         std::string(kKey) + "\r\n" + std::string(lines) + "\r\n";
}

const std::string kHidden = "0\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n";

/// 400 or 501, nothing behind it, and no byte of it at the engine.
void expect_refused(const std::string& bytes) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(bytes);
  const RawAnswer answer = read_answer(client);
  EXPECT_TRUE(answer.status() == 400 || answer.status() == 501) << answer.status() << " to\n" << bytes;
  EXPECT_EQ(client.read_to_end(), "") << "a second answer to\n" << bytes;
  EXPECT_THAT(engine.requests(), IsEmpty()) << bytes;
}

TEST(KF12, A_LengthThenChunked) {
  expect_refused(head_with("Content-Length: 37\r\nTransfer-Encoding: chunked\r\n") + kHidden);
}

TEST(KF12, B_ChunkedThenLength) {
  expect_refused(head_with("Transfer-Encoding: chunked\r\nContent-Length: 37\r\n") + kHidden);
}

TEST(KF12, C_UnknownCodingWithALength) {
  expect_refused(head_with("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n") + "hello");
  expect_refused(head_with("Content-Length: 5\r\nTransfer-Encoding: gzip\r\n") + "hello");
}

TEST(KF12, D_CodingsThatAreNotChunkedAlone) {
  for (const char* line :
       {"Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: \r\n",
        "Transfer-Encoding: chunked;q=1\r\n", "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: identity\r\n"})
    expect_refused(head_with(line) + kHidden);
}

TEST(KF12, E_LengthsThatAreNoOneNumber) {
  for (const char* line : {"Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: +5\r\n",
                           "Content-Length: 0x5\r\n", "Content-Length: -1\r\n", "Content-Length: 5, 6\r\n",
                           "Content-Length: 111111111111111111111111111111\r\n", "Content-Length: 5 5\r\n",
                           "Content-Length: 5;\r\n", "Content-Length: \r\n", "Content-Length: 1e1\r\n",
                           "Content-Length: 18446744073709551617\r\n", "Content-Length : 5\r\n"})
    expect_refused(head_with(line) + "hello");
}

TEST(KF12, F_ChunkedInHttp10) {
  expect_refused(head_with("Transfer-Encoding: chunked\r\n", "1.0") + kHidden);
}

TEST(KF12, G_FieldsThatReadInTwoWays) {
  for (const std::string& lines :
       {std::string("X-A: b\r\n c\r\n"), std::string("X-A: b\0c\r\n", 10), std::string("X-A: b\rc\r\n"),
        std::string("X A: b\r\n"), std::string(": b\r\n"), std::string("X-A\r\n"), std::string(" X-A: b\r\n"),
        std::string("X-A\t: b\r\n"), std::string("X-(A): b\r\n"), std::string("Host: y\r\n"),
        std::string("Authorization: Bearer other\r\n")})
    expect_refused(head_with(lines + "Content-Length: 2\r\n") + "{}");
}

TEST(KF12, G_RequestWithoutAHost) {
  expect_refused("POST /v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n");
}

TEST(KF12, G_RequestLinesThatReadInTwoWays) {
  for (const char* line :
       {"POST  /v1/chat/completions HTTP/1.1\r\n", "POST /v1/chat/completions HTTP/1.1 \r\n",
        "POST /v1/chat/completions\r\n", "POST /v1/chat/completions HTTP/2.0\r\n",
        "POST /v1/chat/completions http/1.1\r\n", " POST /v1/chat/completions HTTP/1.1\r\n",
        "POST\t/v1/chat/completions HTTP/1.1\r\n", "POST /v1/chat/com pletions HTTP/1.1\r\n"}) {
    ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
    RunningGateway gateway({.replicas = {engine.port()}});
    RawConnection client = gateway.connect();
    client.send(std::string(line) + "Host: x\r\nAuthorization: Bearer " + std::string(kKey) +
                "\r\nContent-Length: 2\r\n\r\n{}");
    const int status = read_answer(client).status();
    EXPECT_TRUE(status >= 400 && status < 600) << status << " to " << line;
    EXPECT_EQ(client.read_to_end(), "") << line;
    EXPECT_THAT(engine.requests(), IsEmpty()) << line;
  }
}

TEST(KF12, ChunksThatReadInTwoWays) {
  for (const char* body : {"2 \r\n{}\r\n0\r\n\r\n", "0x2\r\n{}\r\n0\r\n\r\n", "-2\r\n{}\r\n0\r\n\r\n",
                           "2\n{}\n0\n\n", "2\r\n{}0\r\n\r\n", "\r\n{}\r\n0\r\n\r\n", "g\r\n{}\r\n0\r\n\r\n",
                           "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n"}) {
    ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
    RunningGateway gateway({.replicas = {engine.port()}, .adjust = [](Config& config) {
                              config.limits.body_idle_timeout = std::chrono::milliseconds(200);
                            }});
    RawConnection client = gateway.connect();
    client.send(head_with("Transfer-Encoding: chunked\r\n") + body);
    const int status = read_answer(client).status();
    EXPECT_TRUE(status >= 400 && status < 500) << status << " to " << body;
    EXPECT_THAT(engine.requests(), IsEmpty()) << body;
  }
}

TEST(KF12, H_AnswerWithBothFramingsGoesOnWithOneOrNotAtAll) {
  ScriptedBackend engine(ScriptedBackend::answering(
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway, kPlainBody);
  const bool both = !answer.field("content-length").empty() && !answer.field("transfer-encoding").empty();
  EXPECT_FALSE(both);
  EXPECT_EQ(answer.status(), 502);
}

/// One engine that sends `bytes` and closes after each request.
RawAnswer answered_with(const std::string& bytes, std::string_view body = kPlainBody) {
  ScriptedBackend engine(breaking_off(bytes, Ending::kFin));
  RunningGateway gateway({.replicas = {engine.port()}});
  return ask(gateway, body);
}

TEST(KF13, A_BodyThatEndsByClosing) {
  const std::string json = R"({"choices":[],"p":")" + std::string(1'000'000, 'x') + "\"}";
  const RawAnswer answer = answered_with("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + json);
  EXPECT_EQ(answer.body, json);
  EXPECT_TRUE(answer.whole);
}

TEST(KF13, B_StreamThatEndsByClosing) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
  const RawAnswer whole =
      answered_with(head + event("hi") + finish_event() + std::string(kDone), kStreamBody);
  EXPECT_TRUE(whole.whole);
  EXPECT_EQ(whole.field("transfer-encoding"), "chunked");
  EXPECT_FALSE(answered_with(head + event("hi"), kStreamBody).whole) << "no finish: it broke off";
}

TEST(KF13, C_Http10WithKeepAliveIsUsedAgain) {
  std::string old = chat_answer(1, 1);
  old.replace(0, 8, "HTTP/1.0");
  old.insert(old.find("\r\n") + 2, "Connection: keep-alive\r\n");
  ScriptedBackend engine(ScriptedBackend::answering(old));
  RunningGateway gateway({.replicas = {engine.port()}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_EQ(engine.connections(), 1);
}

TEST(KF13, E_AnswersWithoutABodyAreNotWaitedFor) {
  for (const char* head :
       {"204 No Content\r\nContent-Length: 5", "304 Not Modified\r\nContent-Length: 5", "204 No Content",
        "200 OK\r\nContent-Length: 0", "200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 0"}) {
    ScriptedBackend engine(ScriptedBackend::answering("HTTP/1.1 " + std::string(head) + "\r\n\r\n"));
    RunningGateway gateway({.replicas = {engine.port()}});
    for (const std::string_view body : {kPlainBody, kStreamBody}) {
      const RawAnswer answer = ask(gateway, body);
      EXPECT_EQ(answer.status(), 502) << head;
      EXPECT_THAT(answer.body, HasSubstr("\"error\"")) << "an empty answer looks like a silent model";
    }
  }
}

TEST(KF13, E_ErrorWithoutABodyReachesTheClient) {
  ScriptedBackend engine(ScriptedBackend::answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 400);
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 400);
}

TEST(KF13, F_InterimAnswersAreSkipped) {
  const RawAnswer answer = answered_with(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + chat_answer(3, 2));
  EXPECT_EQ(answer.status(), 200);
  EXPECT_TRUE(answer.whole);
}

TEST(KF13, G_NoReasonPhraseAndLowerCaseNames) {
  const RawAnswer answer = answered_with(
      "HTTP/1.1 200\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n"
      "{\"choices\":[]}");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.body, "{\"choices\":[]}");
}

TEST(KF13, H_ClientOfHttp10IsSentNoChunks) {
  ScriptedBackend engine(streaming(whole_stream()));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send("POST /v1/chat/completions HTTP/1.0\r\nAuthorization: Bearer " + std::string(kKey) +
              "\r\nContent-Length: " + std::to_string(kStreamBody.size()) + "\r\n\r\n" +
              std::string(kStreamBody));
  const std::string all = client.read_to_end();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(all, Not(HasSubstr("transfer-encoding")));
  EXPECT_THAT(all, ::testing::EndsWith(event("hi") + finish_event() + std::string(kDone)));
}

}  // namespace
}  // namespace fareway::testing
