// Where the router connects is configuration, and what clients send is nobody else's to read.

#include <fstream>
#include <iterator>

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A place that nobody may reach through the router.
struct Trap {
  ScriptedBackend backend{ScriptedBackend::answering(chat_answer(1, 1))};
  std::string url() const { return "http://127.0.0.1:" + std::to_string(backend.port()) + "/"; }
};

void expect_untouched(Trap& trap, const std::string& body, std::string_view extra = {}) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}, .replica_key = "sk-engine"});
  ask(gateway, body, "/v1/chat/completions", extra);
  EXPECT_TRUE(gateway.settles_down());
  EXPECT_EQ(trap.backend.connections(), 0) << body << extra;
}

TEST(KF35, A_MembersThatNameATargetAreInertData) {
  Trap trap;
  for (const char* name : {"api_base", "base_url", "backend", "target", "api_key"}) {
    const std::string member = "\"" + std::string(name) + "\":\"" + trap.url() + "\"";
    expect_untouched(trap, R"({"model":"m","messages":[],)" + member + "}");
    expect_untouched(
        trap, R"({"model":"m","messages":[],"metadata":{)" + member + R"(},"extra_body":{)" + member + "}}");
  }
}

TEST(KF35, B_FieldsThatNameATargetAreIgnored) {
  Trap trap;
  for (const char* name : {"X-Backend", "X-Forwarded-Host", "X-Router-Target", "X-Fareway-Replica"})
    expect_untouched(trap, std::string(kPlainBody), std::string(name) + ": " + trap.url() + "\r\n");
}

TEST(KF35, C_ModelNamesThatLookLikeAddressesAreUnknown) {
  RunningGateway gateway({.replicas = {refused_port()}});
  for (const char* model : {"http://169.254.169.254/x", "../admin", "m@127.0.0.1:22", "m?x=1#y", "m/../m"})
    EXPECT_EQ(ask(gateway, R"({"messages":[],"model":")" + std::string(model) + "\"}").status(), 404)
        << model;
}

TEST(KF35, D_RedirectsAreNotFollowed) {
  Trap trap;
  for (const char* status : {"301 Moved", "307 Temporary Redirect", "308 Permanent Redirect"}) {
    ScriptedBackend engine(ScriptedBackend::answering(
        "HTTP/1.1 " + std::string(status) + "\r\nLocation: " + trap.url() + "\r\nContent-Length: 0\r\n\r\n"));
    RunningGateway gateway({.replicas = {engine.port()}});
    EXPECT_EQ(ask(gateway, kPlainBody).status(), 502) << status;
  }
  EXPECT_EQ(trap.backend.connections(), 0);
}

TEST(KF35, E_ImagesAreNotFetched) {
  Trap trap;
  expect_untouched(
      trap, R"({"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":")" +
                trap.url() + R"("}}]}]})");
}

TEST(KF35, F_PathsThatClimbOrNameAHostAreRefused) {
  Trap trap;
  RunningGateway gateway({.replicas = {refused_port()}});
  for (const std::string& path :
       {std::string("//evil/v1/chat/completions"), std::string("/v1/../admin"),
        "/v1/chat/completions@" + trap.url(), std::string("/v1/chat/completions/../../x"),
        "http://127.0.0.1:" + std::to_string(trap.backend.port()) + "/x"}) {
    const int status = ask(gateway, kPlainBody, path).status();
    EXPECT_TRUE(status == 400 || status == 404) << status << " to " << path;
  }
  EXPECT_EQ(trap.backend.connections(), 0);
}

constexpr std::string_view kPromptCanary = "CANARY-3333";

/// Everything the process says while a request with the canary in its prompt meets `script`.
std::string said_about(const ScriptedBackend::Script& script, std::string& answered) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  {
    ScriptedBackend engine(script);
    RunningGateway gateway(
        {.replicas = {engine.port()}, .replica_key = "sk-canary-2222", .adjust = [](Config& config) {
           config.limits.first_byte_timeout = std::chrono::milliseconds(200);
         }});
    answered = ask(gateway, R"({"model":"m","messages":[{"role":"user","content":")" +
                                std::string(kPromptCanary) + "\"}]}")
                   .body;
    gateway.settles_down();
  }
  return ::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout();
}

TEST(KF36, EnginesThatFailMakeTheRouterSayNothingOfPromptOrKey) {
  const std::string trace = "Traceback at 10.0.0.7: sk-canary-2222";
  const std::vector<ScriptedBackend::Script> scripts{
      breaking_off(""),
      breaking_off("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"a\":", Ending::kFin),
      ScriptedBackend::answering("HTTP/1.1 500 Oops\r\nContent-Length: " + std::to_string(trace.size()) +
                                 "\r\n\r\n" + trace),
      ScriptedBackend::answering("HTTP/1.1 401 No\r\nContent-Length: " + std::to_string(trace.size()) +
                                 "\r\n\r\n" + trace),
      ScriptedBackend::answering("not http at all\r\n\r\n"),
      [](RawConnection& connection, ScriptedBackend& backend) {
        backend.take_request(connection);
        connection.closes_within(std::chrono::seconds(5));
      }};
  for (const ScriptedBackend::Script& script : scripts) {
    std::string answered;
    const std::string said = said_about(script, answered);
    for (const std::string_view secret : {kPromptCanary, std::string_view("sk-canary-2222"), kKey}) {
      EXPECT_THAT(said, Not(HasSubstr(secret)));
      EXPECT_THAT(answered, Not(HasSubstr(secret)));
    }
    EXPECT_THAT(answered, Not(HasSubstr("10.0.0.7"))) << "addresses and traces are not for clients";
  }
}

TEST(KF36, RefusalsDoNotRepeatTheKey) {
  RunningGateway gateway({.replicas = {refused_port()}});
  RawConnection client = gateway.connect();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
      "sk-canary-1111\r\nContent-Length: "
      "2\r\n\r\n{}");
  const RawAnswer answer = read_answer(client);
  EXPECT_EQ(answer.status(), 401);
  EXPECT_THAT(answer.head + answer.body, Not(HasSubstr("canary")));
}

TEST(KF36, LedgerHoldsNoPromptAndNoKey) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {engine.port()}, .replica_key = "sk-canary-2222"});
  ask(gateway, R"({"model":"m","user":"CANARY-3333","messages":[{"role":"user","content":"CANARY-3333"}]})");
  gateway.rows(1);
  for (const char* ending : {"", "-wal"}) {
    std::ifstream in(gateway.ledger_file().string() + ending, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    for (const std::string_view secret : {kPromptCanary, std::string_view("sk-canary-2222"), kKey})
      EXPECT_EQ(bytes.find(secret), std::string::npos) << ending;
  }
}

}  // namespace
}  // namespace fareway::testing
