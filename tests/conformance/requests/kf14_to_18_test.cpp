// Keys, large and deep bodies, model names.

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

/// What an engine with the key "sk-engine" was sent.
std::string forwarded(std::string_view path, std::string_view extra,
                      std::string_view engine_key = "sk-engine") {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}, .replica_key = std::string(engine_key)});
  EXPECT_EQ(ask(gateway, kPlainBody, path, extra).status(), 200);
  return engine.requests().empty() ? std::string() : engine.requests().at(0);
}

TEST(KF14, A_ClientsKeyDoesNotReachTheEngineAndTheEnginesDoes) {
  const std::string seen = forwarded("/v1/chat/completions", "");
  EXPECT_THAT(seen, Not(HasSubstr(kKey)));
  EXPECT_THAT(lower(seen), HasSubstr("authorization: bearer sk-engine\r\n"));
}

TEST(KF14, B_NorInAnyOtherFieldOrInTheQuery) {
  const std::string key(kKey);
  for (const std::string& line :
       {"Cookie: session=" + key + "\r\n", "Proxy-Authorization: Bearer " + key + "\r\n",
        "api-key: " + key + "\r\n", "X-Custom: " + key + "\r\n"})
    EXPECT_THAT(forwarded("/v1/chat/completions", line), Not(HasSubstr(key))) << line;
}

TEST(KF14, D_EngineWithoutAKeyGetsNone) {
  EXPECT_THAT(lower(forwarded("/v1/chat/completions", "", "")), Not(HasSubstr("authorization")));
}

TEST(KF14, E_EngineThatRejectsTheRoutersKeyIsNoFaultOfTheClient) {
  ScriptedBackend engine(
      ScriptedBackend::answering("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}"));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 502);
}

TEST(KF14, F_RedirectIsNotFollowed) {
  ScriptedBackend elsewhere(ScriptedBackend::answering(chat_answer(1, 1)));
  ScriptedBackend engine(ScriptedBackend::answering(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:" + std::to_string(elsewhere.port()) +
      "/\r\nContent-Length: 0\r\n\r\n"));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 502);
  EXPECT_EQ(elsewhere.connections(), 0);
}

TEST(KF14, G_OnEveryRoute) {
  for (const char* path : {"/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/messages"})
    EXPECT_THAT(forwarded(path, ""), Not(HasSubstr(kKey))) << path;
}

TEST(KF14, H_SchemeInAnyCaseAndTwoKeysRefused) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const auto with = [&](const std::string& lines) {
    RawConnection client = gateway.connect();
    client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + lines + "Content-Length: " +
                std::to_string(kPlainBody.size()) + "\r\n\r\n" + std::string(kPlainBody));
    return read_answer(client).status();
  };
  EXPECT_EQ(with("authorization:  bearer " + std::string(kKey) + "\r\n"), 200);
  EXPECT_EQ(with("Authorization: Bearer " + std::string(kKey) + "\r\nAuthorization: Bearer other\r\n"), 400);
}

TEST(KF15, A_ImageOfTwentyMegabytesArrivesAsItWasSent) {
  const std::string body =
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,)" +
      std::string(28'000'000, 'A') + R"("}}]}]})";
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, body).status(), 200);
  EXPECT_TRUE(engine.requests().at(0).ends_with(body));
}

TEST(KF15, C_TooLargeByItsLengthIsRefusedBeforeItIsRead) {
  RunningGateway gateway(
      {.replicas = {refused_port()}, .adjust = [](Config& config) { config.limits.max_body_bytes = 1000; }});
  RawConnection client = gateway.connect();
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + std::string(kKey) +
              "\r\nContent-Length: 1001\r\n\r\n");
  const RawAnswer answer = read_answer(client);
  EXPECT_EQ(answer.status(), 413);
  EXPECT_EQ(answer.field("content-type"), "application/json");
}

TEST(KF15, D_TooLargeInChunksIsRefusedWhenItIs) {
  RunningGateway gateway(
      {.replicas = {refused_port()}, .adjust = [](Config& config) { config.limits.max_body_bytes = 1000; }});
  RawConnection client = gateway.connect();
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + std::string(kKey) +
              "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(std::string(600, ' ')) +
              chunk(std::string(600, ' ')));
  EXPECT_EQ(read_answer(client).status(), 413);
}

TEST(KF15, E_AnswerOfTwelveMegabytes) {
  const std::string body = R"({"data":[{"embedding":")" + std::string(12'000'000, 'x') +
                           R"("}],"usage":{"prompt_tokens":3,"total_tokens":3}})";
  ScriptedBackend engine(ScriptedBackend::answering(json_answer(body)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway, R"({"model":"m","input":"hi"})", "/v1/embeddings");
  EXPECT_TRUE(answer.body == body);
  EXPECT_EQ(gateway.rows(1).at(0).prompt, 3);
}

std::string nested(std::size_t depth, std::string_view open, std::string_view close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

/// The status of a request with that body, after which the gateway still serves.
int status_of(const std::string& body) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const int status = ask(gateway, body).status();
  EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  return status;
}

TEST(KF16, A_HundredThousandBracketsInAnUnknownMember) {
  EXPECT_EQ(status_of(R"({"model":"m","messages":[],"x":)" + nested(100'000, "[", "]") + "}"), 400);
}

TEST(KF16, B_FiftyThousandOpenMaps) {
  EXPECT_EQ(status_of(nested(50'000, R"({"a":)", "")), 400);
}

TEST(KF16, C_InsideMembersThatAreRead) {
  const std::string deep = nested(100'000, "[", "]");
  EXPECT_EQ(status_of(R"({"model":"m","messages":[{"role":"user","content":)" + deep + "}]}"), 400);
  EXPECT_EQ(status_of(R"({"model":"m","messages":[],"tools":[{"function":{"parameters":)" + deep + "}}]}"),
            400);
  EXPECT_EQ(status_of(R"({"model":"m","messages":[],"metadata":)" + deep + "}"), 400);
}

TEST(KF16, D_OnlyTheOpeningHalf) {
  EXPECT_EQ(status_of(R"({"model":"m","messages":)" + nested(100'000, "[", "")), 400);
}

TEST(KF16, E_AWrongKeyIsSeenFirst) {
  RunningGateway gateway({.replicas = {refused_port()}});
  RawConnection client = gateway.connect();
  const std::string body = nested(100'000, "[", "]");
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(read_answer(client).status(), 401);
}

TEST(KF16, F_InAnAnswerItIsBytes) {
  const std::string deep = R"({"choices":)" + nested(100'000, "[", "]") + "}";
  ScriptedBackend engine(ScriptedBackend::answering(json_answer(deep)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway, kPlainBody);
  EXPECT_TRUE(answer.status() == 502 || answer.body == deep);
  ScriptedBackend streams(streaming(chunk("data: " + deep + "\n\n") + whole_stream()));
  RunningGateway second({.replicas = {streams.port()}});
  EXPECT_THAT(ask(second).body, HasSubstr("[DONE]"));
}

TEST(KF16, H_ThirtyLevelsOfARealToolAreFine) {
  EXPECT_EQ(status_of(R"({"model":"m","messages":[],"tools":[{"function":{"parameters":)" +
                      nested(30, R"({"a":)", "}").insert(30 * 5, "1") + "}}]}"),
            200);
}

struct Asked {
  int status{};
  std::string body;
  std::string retry_after;
  std::size_t reached{};
};

Asked asked_for(const std::string& model) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer =
      ask(gateway, R"({"messages":[])" + (model.empty() ? "" : R"(,"model":)" + model) + "}");
  EXPECT_EQ(answer.field("content-type"), "application/json");
  return {.status = answer.status(),
          .body = answer.body,
          .retry_after = answer.field("retry-after"),
          .reached = engine.requests().size()};
}

TEST(KF17, A_B_C_ModelThatIsNone) {
  for (const char* model : {"", R"("")", "null", "7", "{}", "[]", "true"}) {
    const Asked seen = asked_for(model);
    EXPECT_EQ(seen.status, 400) << model;
    EXPECT_THAT(seen.body, HasSubstr(R"("param":"model")")) << model;
    EXPECT_EQ(seen.reached, 0U) << model;
  }
}

TEST(KF17, D_E_ModelThatDoesNotExist) {
  for (const char* model : {R"("nope")", R"("M")", R"(" m")", R"("m ")", R"("m\u0000")"}) {
    const Asked seen = asked_for(model);
    EXPECT_EQ(seen.status, 404) << model;
    EXPECT_THAT(seen.body, HasSubstr(R"("code":"model_not_found")")) << model;
    EXPECT_EQ(seen.reached, 0U) << model;
  }
}

TEST(KF17, F_NameOfAMegabyteIsCutInTheMessage) {
  const Asked seen = asked_for('"' + std::string(1'000'000, 'x') + '"');
  EXPECT_TRUE(seen.status == 400 || seen.status == 404);
  EXPECT_LT(seen.body.size(), 1000U);
}

TEST(KF17, H_ModelWithoutAReplicaIsA503WithRetryAfter) {
  const Asked seen = asked_for(R"("other")");
  EXPECT_EQ(seen.status, 503);
  EXPECT_THAT(seen.retry_after, Not(IsEmpty()));
}

TEST(KF17, K_L_OtherRoutesSayWhatIsWrong) {
  RunningGateway gateway({.replicas = {refused_port()}});
  const auto sent = [&](const std::string& line) {
    RawConnection client = gateway.connect();
    client.send(line + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + std::string(kKey) + "\r\n\r\n");
    return read_answer(client);
  };
  const RawAnswer unknown = sent("GET /v1/models/nope");
  EXPECT_EQ(unknown.status(), 404);
  EXPECT_THAT(unknown.body, HasSubstr("model_not_found"));
  const RawAnswer method = sent("GET /v1/chat/completions");
  EXPECT_EQ(method.status(), 405);
  EXPECT_EQ(method.field("allow"), "POST");
  EXPECT_EQ(sent("GET /v1/chat/complete").status(), 404);
}

TEST(KF18, D_ErrorOfAStreamRequestHasOneTrueFraming) {
  ScriptedBackend engine(
      ScriptedBackend::answering("HTTP/1.1 400 Bad Request\r\nContent-Type: "
                                 "application/json\r\nContent-Length: 13\r\n\r\n{\"error\":\"x\"}"));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway);
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(answer.body, "{\"error\":\"x\"}");
  EXPECT_EQ(answer.field("content-length"), "13");
  EXPECT_EQ(answer.field("transfer-encoding"), "");
}

TEST(KF18, E_ValuesKeepTheirSpelling) {
  const std::string body =
      R"({ "seed":9007199254740993, "temperature":1.0,"logit_bias":{"50256":-100},"model":"m","zz":"\u00e9",)"
      R"( "messages":[{"role":"user","content":"the model m"}] })";
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway, body).status(), 200);
  EXPECT_THAT(engine.requests().at(0), EndsWith(body));
  EXPECT_THAT(lower(engine.requests().at(0)),
              HasSubstr("content-length: " + std::to_string(body.size()) + "\r\n"));
}

TEST(KF18, B_ChunkedRequestIsForwardedWithItsTrueLength) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + std::string(kKey) +
              "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(kPlainBody.substr(0, 9)) +
              chunk(kPlainBody.substr(9)) + std::string(kLast));
  EXPECT_EQ(read_answer(client).status(), 200);
  const std::string seen = lower(engine.requests().at(0));
  EXPECT_THAT(seen, HasSubstr("content-length: " + std::to_string(kPlainBody.size()) + "\r\n"));
  EXPECT_THAT(seen, Not(HasSubstr("transfer-encoding")));
}

}  // namespace
}  // namespace fareway::testing
