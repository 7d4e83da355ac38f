// The way of a request through real sockets: what engines receive, what clients get, what the ledger keeps.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/running_gateway.hpp"

namespace fareway::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Plays a stream, each piece as a chunk of its own, once the request has come.
ScriptedBackend::Script streaming(std::vector<std::string> pieces) {
  return [pieces = std::move(pieces)](RawConnection& connection, ScriptedBackend& backend) {
    while (backend.take_request(connection)) {
      connection.send(kSseHead);
      for (const std::string& piece : pieces) connection.send(chunk(piece));
      connection.send(kLast);
    }
  };
}

TEST(Gateway, RelaysAPlainAnswerByteForByteAndKeepsItsUsage) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(11, 7)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kPlainBody));
  const RawAnswer answer = read_answer(client);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_THAT(chat_answer(11, 7), EndsWith("\r\n\r\n" + answer.body));
  EXPECT_EQ(answer.field("x-fareway-pool"), "r0");
  EXPECT_EQ(answer.field("x-fareway-class"), "interactive");

  const std::vector<SeenRow> rows = gateway.rows(1);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].request_id, answer.field("x-request-id"));
  EXPECT_EQ(rows[0].outcome, "complete");
  EXPECT_EQ(rows[0].status, 200);
  EXPECT_EQ(rows[0].usage_source, "engine");
  EXPECT_EQ(rows[0].prompt, 11);
  EXPECT_EQ(rows[0].completion, 7);
  EXPECT_EQ(rows[0].price, 11 * 1'000 + 7 * 2'000);  // $1 and $2 a million tokens
  EXPECT_THAT(rows[0].replicas, ElementsAre("r0"));
  EXPECT_TRUE(gateway.settles_down());
}

TEST(Gateway, ChoosesTheClassByHeaderThenPathAndModelThenKey) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  constexpr ClassIndex kInteractive{0};
  constexpr ClassIndex kBatch{1};
  RunningGateway gateway({.replicas = {engine.port()}, .adjust = [&](Config& config) {
                            config.fleet.classes.push_back({.name = "gold", .tpot = Seconds{1}, .miss = {1}});
                            config.keys[0].classes = {kInteractive, kBatch};
                            config.class_defaults = {
                                {.path = {}, .model = ModelIndex{0}, .service_class = ClassIndex{2}},
                                {.path = "/v1/completions", .model = {}, .service_class = kBatch}};
                          }});
  const auto class_of = [&](std::string_view path, std::string_view header) {
    RawConnection client = gateway.connect();
    client.send(post(kPlainBody, path, header));
    const RawAnswer answer = read_answer(client);
    return answer.status() == 200 ? answer.field("x-fareway-class") : answer.body;
  };
  EXPECT_EQ(class_of("/v1/chat/completions", ""), "interactive") << "gold is not for this key: passed over";
  EXPECT_EQ(class_of("/v1/completions", ""), "batch");
  EXPECT_EQ(class_of("/v1/completions", "x-fareway-class: interactive\r\n"), "interactive");
  EXPECT_THAT(class_of("/v1/completions", "x-fareway-class: gold\r\n"), HasSubstr("class_not_permitted"));
}

TEST(Gateway, ForwardsTheBodyUntouchedAndOnlyHeadersOfTheAllowList) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}, .replica_key = "sk-engine"});
  const std::string body =
      R"( { "model":"m", "messages":[{"role":"user","content":"\u00e9"}], "seed":9007199254740993, "temperature":1.0 } )";
  RawConnection client = gateway.connect();
  client.send(post(body, "/v1/chat/completions?key=" + std::string(kKey),
                   "X-Api-Key: " + std::string(kKey) + "\r\nCookie: k=" + std::string(kKey) +
                       "\r\nTraceparent: 00-ab-cd-01\r\nX-Forwarded-Host: evil\r\n"));
  EXPECT_EQ(read_answer(client).status(), 200);
  ASSERT_EQ(engine.requests().size(), 1u);
  const std::string seen = engine.requests()[0];
  EXPECT_THAT(seen, StartsWith("POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:"));
  EXPECT_THAT(seen, EndsWith("\r\n\r\n" + body));
  EXPECT_THAT(seen, HasSubstr("authorization: Bearer sk-engine\r\n"));
  EXPECT_THAT(seen, HasSubstr("traceparent: 00-ab-cd-01\r\n"));
  EXPECT_THAT(seen, Not(HasSubstr(std::string(kKey))));
  EXPECT_THAT(seen, Not(HasSubstr("evil")));
}

TEST(Gateway, SendsNoAuthorizationToAnEngineWithoutKey) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kPlainBody));
  read_answer(client);
  EXPECT_THAT(engine.requests().at(0), Not(HasSubstr("uthorization")));
}

TEST(Gateway, StreamsEventsAndKeepsBackTheUsageChunkItAskedFor) {
  ScriptedBackend engine(streaming(
      {role_event(), event("Hel"), event("lo"), finish_event(), usage_event(11, 7), std::string(kDone)}));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  const RawAnswer answer = read_answer(client);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body, role_event() + event("Hel") + event("lo") + finish_event() + std::string(kDone));
  EXPECT_THAT(engine.requests().at(0), HasSubstr(R"({"stream_options":{"include_usage":true},"model":"m")"));
  const std::vector<SeenRow> rows = gateway.rows(1);
  EXPECT_EQ(rows.at(0).outcome, "complete");
  EXPECT_EQ(rows.at(0).prompt, 11);
  EXPECT_EQ(rows.at(0).completion, 7);
  EXPECT_TRUE(rows.at(0).has_ttft);
}

TEST(Gateway, LeavesTheUsageChunkToAClientThatAskedForIt) {
  ScriptedBackend engine(streaming({event("a"), finish_event(), usage_event(11, 7), std::string(kDone)}));
  RunningGateway gateway({.replicas = {engine.port()}});
  const std::string body =
      R"({"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true,"x":1}})";
  RawConnection client = gateway.connect();
  client.send(post(body));
  EXPECT_EQ(read_answer(client).body, event("a") + finish_event() + usage_event(11, 7) + std::string(kDone));
  EXPECT_THAT(engine.requests().at(0), EndsWith(body));
}

TEST(Gateway, ReadsAStreamThatComesByteByByte) {
  const std::string stream = std::string(kSseHead) + chunk(event("\xe4\xb8\xad")) + chunk(finish_event()) +
                             chunk(usage_event(3, 2)) + chunk(kDone) + std::string(kLast);
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    if (backend.take_request(connection)) connection.send_one_by_one(stream);
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  const RawAnswer answer = read_answer(client);
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body, event("\xe4\xb8\xad") + finish_event() + std::string(kDone));
  EXPECT_EQ(gateway.rows(1).at(0).completion, 2);
}

TEST(Gateway, ReadsAStreamWhoseEveryByteIsAChunk) {
  const std::string events = event("a") + finish_event() + usage_event(3, 2) + std::string(kDone);
  std::vector<std::string> bytes;
  for (const char byte : events) bytes.emplace_back(1, byte);
  ScriptedBackend engine(streaming(bytes));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  EXPECT_EQ(read_answer(client).body, event("a") + finish_event() + std::string(kDone));
  EXPECT_EQ(gateway.rows(1).at(0).prompt, 3);
}

TEST(Gateway, SendsAnEventOnBeforeTheNextOneComes) {
  std::promise<void> first_seen;
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    backend.take_request(connection);
    connection.send(std::string(kSseHead) + chunk(event("a")));
    first_seen.get_future().wait();
    connection.send(chunk(finish_event()) + chunk(kDone) + std::string(kLast));
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  EXPECT_THAT(client.read_until(event("a") + "\r\n"), HasSubstr(event("a")));
  first_seen.set_value();
  EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr("[DONE]"));
}

TEST(Gateway, HasTheRowDurableBeforeTheClientSeesTheEnd) {
  ScriptedBackend engine(streaming({event("a"), finish_event(), usage_event(3, 2), std::string(kDone)}));
  RunningGateway gateway({.replicas = {engine.port()}});
  for (std::size_t round = 1; round <= 20; ++round) {
    RawConnection client = gateway.connect();
    client.send(post(kStreamBody));
    EXPECT_THAT(client.read_until("[DONE]"), EndsWith("[DONE]"));
    EXPECT_EQ(gateway.rows(0).size(), round);
  }
}

TEST(Gateway, CountsTokensItselfWhereAnEngineReportsNone) {
  ScriptedBackend engine(
      streaming({role_event(), event("a"), event("b"), finish_event(), std::string(kDone)}));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  read_answer(client);
  const SeenRow row = gateway.rows(1).at(0);
  EXPECT_EQ(row.usage_source, "counted");
  EXPECT_EQ(row.completion, 2);
  EXPECT_GT(row.price.value_or(0), 0);
}

TEST(Gateway, ServesAnthropicsMessagesAndItsErrorShape) {
  const std::string stream =
      "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,"
      "\"cache_read_input_tokens\":20,\"output_tokens\":1}}}\n\n"
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"x\"}}\n\n"
      "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
      "\"usage\":{\"output_tokens\":9}}\n\n"
      "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
  ScriptedBackend engine(streaming({stream}));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody, "/v1/messages", "anthropic-version: 2023-06-01\r\n"));
  EXPECT_EQ(read_answer(client).body, stream);
  EXPECT_THAT(engine.requests().at(0), HasSubstr("anthropic-version: 2023-06-01"));
  const SeenRow row = gateway.rows(1).at(0);
  EXPECT_EQ(row.outcome, "complete");
  EXPECT_EQ(row.prompt, 25);
  EXPECT_EQ(row.cached, 20);
  EXPECT_EQ(row.completion, 9);

  client.send(post(R"({"model":"nope","messages":[]})", "/v1/messages"));
  const RawAnswer refused = read_answer(client);
  EXPECT_EQ(refused.status(), 404);
  EXPECT_THAT(refused.body, StartsWith(R"({"error":{"message":)"));
  EXPECT_THAT(refused.body, HasSubstr(R"("type":"not_found_error")"));
}

TEST(Gateway, KeepsAConnectionAndTakesPipelinedRequestsInOrder) {
  ScriptedBackend engine([](RawConnection& connection, ScriptedBackend& backend) {
    while (backend.take_request(connection)) {
      const bool first = backend.requests().size() == 1;
      connection.send(chat_answer(first ? 1 : 2, 1));
    }
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kPlainBody) + post(kPlainBody) + post(kPlainBody).substr(0, 60));
  EXPECT_THAT(read_answer(client).body, HasSubstr(R"("prompt_tokens":1)"));
  EXPECT_THAT(read_answer(client).body, HasSubstr(R"("prompt_tokens":2)"));
  client.send(post(kPlainBody).substr(60));
  EXPECT_EQ(read_answer(client).status(), 200);
  EXPECT_EQ(engine.connections(), 1);
  EXPECT_EQ(gateway.rows(3).size(), 3u);
}

TEST(Gateway, StreamsALargeAnswerThroughAndFindsItsUsage) {
  const std::string body =
      R"({"data":[")" + std::string(5u << 20, 'x') + R"("],"usage":{"prompt_tokens":9,"total_tokens":9}})";
  ScriptedBackend engine(ScriptedBackend::answering(json_answer(body)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(R"({"model":"m","input":"hi"})", "/v1/embeddings"));
  const RawAnswer answer = read_answer(client);
  EXPECT_EQ(answer.body, body);
  const SeenRow row = gateway.rows(1).at(0);
  EXPECT_EQ(row.outcome, "complete");
  EXPECT_EQ(row.prompt, 9);
  EXPECT_EQ(row.completion, 0);
}

TEST(Gateway, HashesTheSessionWithItsTenant) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kPlainBody, "/v1/chat/completions", "X-Session-Id: abc\r\n"));
  read_answer(client);
  client.send(post(R"({"model":"m","messages":[],"prompt_cache_key":"abc"})"));
  read_answer(client);
  client.send(post(kPlainBody));
  read_answer(client);
  const std::vector<SeenRow> rows = gateway.rows(3);
  EXPECT_EQ(rows.at(0).session.size(), 16u);
  EXPECT_EQ(rows.at(0).session, rows.at(1).session);
  EXPECT_EQ(rows.at(2).session, "");
}

TEST(Gateway, ListsOnlyTheModelsOfTheTenant) {
  RunningGateway gateway({.replicas = {refused_port()}});
  RawConnection client = gateway.connect();
  client.send("GET /v1/models HTTP/1.1\r\nHost: x\r\nx-api-key: " + std::string(kOtherKey) + "\r\n\r\n");
  const std::string models = read_answer(client).body;
  EXPECT_THAT(models, HasSubstr(R"("id":"other")"));
  EXPECT_THAT(models, Not(HasSubstr(R"("id":"m")")));
  client.send("GET /v1/models/m HTTP/1.1\r\nHost: x\r\nx-api-key: " + std::string(kOtherKey) + "\r\n\r\n");
  EXPECT_EQ(read_answer(client).status(), 404);
  client.send("HEAD /v1/models HTTP/1.1\r\nHost: x\r\nx-api-key: " + std::string(kOtherKey) + "\r\n\r\n" +
              "GET /v1/models/other HTTP/1.1\r\nHost: x\r\nx-api-key: " + std::string(kOtherKey) +
              "\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("content-length: " + std::to_string(models.size())));
  EXPECT_THAT(read_answer(client).body, HasSubstr(R"("owned_by":"fareway")"));
}

}  // namespace
}  // namespace fareway::testing
