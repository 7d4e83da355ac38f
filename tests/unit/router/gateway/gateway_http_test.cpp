// What clients may send, and what is refused: framing tricks, credentials, sizes, wrong names.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/running_gateway.hpp"

namespace fareway::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A head that would be fine, with `lines` in it.
std::string with_lines(std::string_view lines, std::string_view rest, std::string_view version = "1.1") {
  return "POST /v1/chat/completions HTTP/" + std::string(version) + "\r\nHost: x\r\nAuthorization: Bearer " +
         std::string(kKey) + "\r\n" + std::string(lines) + "\r\n" + std::string(rest);
}

TEST(GatewayHttp, TakesAChunkedRequestAndForwardsItWithALength) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(with_lines("Transfer-Encoding: chunked\r\n",
                         chunk(kPlainBody.substr(0, 7)) + chunk(kPlainBody.substr(7)) + std::string(kLast)));
  EXPECT_EQ(read_answer(client).status(), 200);
  EXPECT_THAT(engine.requests().at(0),
              HasSubstr("content-length: " + std::to_string(kPlainBody.size()) + "\r\n"));
  EXPECT_THAT(engine.requests().at(0), EndsWith(kPlainBody));
  EXPECT_THAT(engine.requests().at(0), Not(HasSubstr("chunked")));
}

TEST(GatewayHttp, AsksForTheBodyOfAClientThatWaits) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(with_lines(
      "Expect: 100-continue\r\nContent-Length: " + std::to_string(kPlainBody.size()) + "\r\n", ""));
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(kPlainBody);
  EXPECT_EQ(read_answer(client).status(), 200);
}

TEST(GatewayHttp, ServesAnHttp10ClientWithoutChunks) {
  ScriptedBackend engine(ScriptedBackend::answering(
      std::string(kSseHead) + chunk(event("A") + finish_event()) + chunk(kDone) + std::string(kLast)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send("POST /v1/chat/completions HTTP/1.0\r\nAuthorization: bearer  " + std::string(kKey) +
              "\r\nContent-Length: " + std::to_string(kStreamBody.size()) + "\r\n\r\n" +
              std::string(kStreamBody));
  const std::string answer = client.read_to_end();
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n" + event("A") + finish_event() + std::string(kDone)));
}

TEST(GatewayHttp, ReadsAnEnginesOldFramings) {
  const std::string json = R"({"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1},"p":")" +
                           std::string(100'000, 'x') + "\"}";
  for (const std::string head : {"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n",
                                 "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 "
                                 "200\r\nconnection: close\r\n\r\n"}) {
    ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
      backend.take_request(connection);
      connection.send(head + json);
    });
    RunningGateway gateway({.replicas = {engine.port()}});
    RawConnection client = gateway.connect();
    client.send(post(kPlainBody));
    const RawAnswer answer = read_answer(client);
    EXPECT_EQ(answer.body, json) << head;
    EXPECT_TRUE(answer.whole);
  }
}

TEST(GatewayHttp, SendsOnlyOneFramingWhereAnEngineSendsTwo) {
  ScriptedBackend engine(ScriptedBackend::answering(
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kPlainBody));
  EXPECT_EQ(read_answer(client).status(), 502);
}

struct BadRequest {
  std::string request;
  int status;
  std::string expected;  ///< in head or body
};
class Refused : public ::testing::TestWithParam<BadRequest> {};

TEST_P(Refused, WithStatusAndWords) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway(
      {.replicas = {engine.port()}, .adjust = [](Config& config) { config.limits.max_body_bytes = 1000; }});
  RawConnection client = gateway.connect();
  client.send(GetParam().request);
  const RawAnswer answer = read_answer(client);
  EXPECT_EQ(answer.status(), GetParam().status) << GetParam().request;
  EXPECT_THAT(answer.head + answer.body, HasSubstr(GetParam().expected));
  EXPECT_EQ(answer.field("content-type"), "application/json");
  EXPECT_THAT(answer.field("x-request-id"), Not(IsEmpty()));
  EXPECT_THAT(answer.body, Not(HasSubstr("sk-client")));
  EXPECT_THAT(engine.requests(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Requests, Refused,
    ::testing::Values(
        BadRequest{"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 401,
                   "invalid_api_key"},
        BadRequest{"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: sk-client-wrong\r\n\r\n", 401,
                   R"("type":"authentication_error")"},
        BadRequest{post("{}", "/v1/nothing"), 404, "unknown_url"},
        BadRequest{"GET /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n", 405, "allow: POST\r\n"},
        BadRequest{"POST /v1/models HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405,
                   "allow: GET, HEAD\r\n"},
        BadRequest{post(R"({"messages":[]})"), 400, R"("param":"model")"},
        BadRequest{post(R"({"model":7,"messages":[]})"), 400, R"("param":"model")"},
        BadRequest{post(R"({"model":"nope","messages":[]})"), 404, R"("code":"model_not_found")"},
        BadRequest{post(R"({"model":"other","messages":[]})"), 503, "no_replica_available"},
        BadRequest{post(R"({"model":"m","messages":[)"), 400, "not valid JSON"},
        BadRequest{post(R"({"model":"m","max_tokens":0})"), 400, R"("param":"max_tokens")"},
        BadRequest{post(kPlainBody, "/v1/chat/completions", "x-fareway-class: gold\r\n"), 400,
                   "interactive, batch"},
        BadRequest{post(kPlainBody, "/v1/chat/completions", "Content-Encoding: gzip\r\n"), 415,
                   "Content-Encoding"},
        BadRequest{post(std::string(1001, ' ')), 413, "1000 bytes"},
        BadRequest{with_lines("Transfer-Encoding: chunked\r\n", chunk(std::string(2000, ' '))), 413,
                   "1000 bytes"},
        BadRequest{with_lines("X-Long: " + std::string(70'000, 'x') + "\r\n", ""), 431, "64 KiB"}));

TEST(GatewayHttp, HidesAModelTheTenantMayNotUse) {
  RunningGateway gateway({.replicas = {refused_port()}});
  const auto message = [&](std::string_view model) {
    RawConnection client = gateway.connect();
    const std::string body = R"({"model":")" + std::string(model) + R"(","messages":[]})";
    client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
                std::string(kOtherKey) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body);
    return read_answer(client).body;
  };
  std::string forbidden = message("m");
  const std::string unknown = message("z");
  ASSERT_THAT(forbidden, HasSubstr("'m'"));
  forbidden.replace(forbidden.find("'m'"), 3, "'z'");
  EXPECT_EQ(forbidden, unknown);
}

TEST(GatewayHttp, KeepsAConnectionAfterARefusalWhoseBodyWasRead) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(R"({"model":"nope"})") + post(kPlainBody));
  EXPECT_EQ(read_answer(client).status(), 404);
  EXPECT_EQ(read_answer(client).status(), 200);
}

TEST(GatewayHttp, ClosesAConnectionThatSendsHalfAHead) {
  RunningGateway gateway(
      {.replicas = {refused_port()}, .adjust = [](Config& config) { config.limits.header_timeout = 150ms; }});
  RawConnection slow = gateway.connect();
  slow.send("POST /v1/chat/completions HTTP/1.1\r\nHo");
  EXPECT_EQ(read_answer(slow).status(), 408);
  RawConnection mute = gateway.connect();
  EXPECT_TRUE(mute.closes_within(5s));
}

TEST(GatewayHttp, HoldsNoMoreConnectionsThanItMay) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway(
      {.replicas = {engine.port()}, .adjust = [](Config& config) { config.limits.max_connections = 1; }});
  auto first = std::make_unique<RawConnection>(gateway.connect());
  first->send(post(kPlainBody));
  EXPECT_EQ(read_answer(*first).status(), 200);
  RawConnection second = gateway.connect();  // waits in the backlog
  second.send(post(kPlainBody));
  EXPECT_EQ(gateway.rows(1).size(), 1u);
  first.reset();
  EXPECT_EQ(read_answer(second).status(), 200);
}

TEST(GatewayHttp, FailsLoudlyOnAPortInUse) {
  RunningGateway gateway({.replicas = {refused_port()}});
  EXPECT_THROW(RunningGateway({.replicas = {refused_port()},
                               .adjust = [&](Config& config) { config.listen.port = gateway.port(); }}),
               std::runtime_error);
}

}  // namespace
}  // namespace fareway::testing
