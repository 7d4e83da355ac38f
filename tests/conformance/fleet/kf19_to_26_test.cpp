// Load that is counted too late, engines that only look alive, and what broken and abandoned streams cost.

#include <atomic>
#include <memory>
#include <vector>

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Replicas alike in everything, prices included, each played by `script`.
struct Alike {
  Alike(std::size_t count, const ScriptedBackend::Script& script) {
    for (std::size_t i = 0; i < count; ++i) engines.push_back(std::make_unique<ScriptedBackend>(script));
    std::vector<std::uint16_t> ports;
    for (const auto& engine : engines) ports.push_back(engine->port());
    gateway = std::make_unique<RunningGateway>(
        RunningGateway::Options{.replicas = ports, .adjust = [](Config& config) {
                                  for (Pool& pool : config.fleet.pools)
                                    pool.per_device_hour = config.fleet.pools.front().per_device_hour;
                                  for (auto& schedule : config.price_schedules)
                                    schedule = config.price_schedules.front();
                                }});
  }
  std::vector<std::size_t> shares() const {
    std::vector<std::size_t> counts;
    for (const auto& engine : engines) counts.push_back(engine->requests().size());
    return counts;
  }
  std::vector<std::unique_ptr<ScriptedBackend>> engines;
  std::unique_ptr<RunningGateway> gateway;
};

/// `count` requests at once, with different prompts, held open until all have reached an engine.
std::vector<std::size_t> burst(std::size_t count) {
  std::promise<void> released;
  const std::shared_future<void> release = released.get_future().share();
  Alike fleet(3, [release](RawConnection& connection, ScriptedBackend& backend) {
    while (backend.take_request(connection)) {
      release.wait();
      connection.send(chat_answer(1, 1));
    }
  });
  std::vector<RawConnection> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(fleet.gateway->connect());
    clients.back().send(post(R"({"model":"m","messages":[{"role":"user","content":"question )" +
                             std::to_string(i) + "\"}]}"));
  }
  std::vector<std::size_t> shares;
  for (std::size_t seen = 0, tries = 0; seen < count && tries < 5000; ++tries) {
    std::this_thread::sleep_for(1ms);
    shares = fleet.shares();
    seen = shares[0] + shares[1] + shares[2];
  }
  released.set_value();
  for (RawConnection& client : clients) EXPECT_EQ(read_answer(client).status(), 200);
  EXPECT_TRUE(fleet.gateway->settles_down());
  return shares;
}

TEST(KF19, A_BurstIsSpreadBeforeAnyEngineAnswers) {
  for (const std::size_t share : burst(60)) {
    EXPECT_GE(share, 18U);
    EXPECT_LE(share, 22U);
  }
}

TEST(KF19, D_E_OneAfterTheOtherIsSpreadToo) {
  Alike fleet(3, ScriptedBackend::answering(chat_answer(1, 1)));
  for (int i = 0; i < 60; ++i)
    ask(*fleet.gateway,
        R"({"model":"m","messages":[{"role":"user","content":"question )" + std::to_string(i) + "\"}]}");
  for (const std::size_t share : fleet.shares()) EXPECT_LE(share, 30U);
}

TEST(KF21, C_FastFailuresAttractNobody) {
  ScriptedBackend dead(ScriptedBackend::answering("HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}"));
  ScriptedBackend healthy(ScriptedBackend::answering(chat_answer(1, 1)));
  RunningGateway gateway({.replicas = {dead.port(), healthy.port()}});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ask(gateway, kPlainBody).status(), 200);
  EXPECT_LE(dead.requests().size(), 5U) << "though it is the cheapest and never busy";
  EXPECT_FALSE(gateway.in_rotation(0));
}

TEST(KF21, E_EmptyAnswersAreNoAnswers) {
  ScriptedBackend empty(streaming(std::string(kLast)));
  ScriptedBackend healthy(streaming(whole_stream()));
  RunningGateway gateway({.replicas = {empty.port(), healthy.port()}});
  const RawAnswer answer = ask(gateway);
  EXPECT_THAT(answer.body, HasSubstr("[DONE]"));
  EXPECT_THAT(gateway.rows(1).at(0).replicas, ElementsAre("r0", "r1"));
}

TEST(KF22, D_ListOfModelsNeedsNoEngine) {
  RunningGateway gateway({.replicas = {refused_port()}});
  for (int i = 0; i < 20; ++i) {
    RawConnection client = gateway.connect();
    client.send("GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + std::string(kKey) +
                "\r\n\r\n");
    const RawAnswer answer = read_answer(client);
    EXPECT_EQ(answer.status(), 200);
    EXPECT_THAT(answer.body, HasSubstr(R"("object":"list")"));
  }
}

TEST(KF22, H_KeyThatMayUseOneModelSeesOne) {
  RunningGateway gateway({.replicas = {refused_port()}});
  RawConnection client = gateway.connect();
  client.send("GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + std::string(kOtherKey) +
              "\r\n\r\n");
  const std::string body = read_answer(client).body;
  EXPECT_THAT(body, HasSubstr(R"("id":"other")"));
  EXPECT_THAT(body, Not(HasSubstr(R"("id":"m")")));
}

std::string tokens(int count) {
  std::string chunks;
  for (int i = 0; i < count; ++i) chunks += chunk(event("x"));
  return chunks;
}

void expect_counted(const SeenRow& row, std::string_view outcome) {
  EXPECT_EQ(row.outcome, outcome);
  EXPECT_EQ(row.usage_source, "counted");
  EXPECT_EQ(row.completion, 50);
  EXPECT_GT(row.prompt.value_or(0), 0);
  EXPECT_GT(row.price.value_or(0), 0) << "leaving early is no discount";
}

TEST(KF26, A_ClientThatClosesAfterFiftyTokens) {
  Held engine_side;
  ScriptedBackend engine(engine_side.script(std::string(kSseHead) + tokens(49) + chunk(event("last"))));
  RunningGateway gateway({.replicas = {engine.port()}});
  {
    RawConnection client = gateway.connect();
    client.send(post(kStreamBody));
    client.read_until(event("last"));
  }
  const auto rows = gateway.rows(1);
  ASSERT_EQ(rows.size(), 1U);
  expect_counted(rows[0], "client_closed");
}

TEST(KF26, B_EngineThatResetsAfterFiftyTokens) {
  ScriptedBackend engine(breaking_off(std::string(kSseHead) + tokens(50)));
  RunningGateway gateway({.replicas = {engine.port()}});
  ask(gateway);
  expect_counted(gateway.rows(1).at(0), "incomplete");
}

TEST(KF26, C_StreamThatGoesSilentAfterFiftyTokens) {
  Held engine_side;
  ScriptedBackend engine(engine_side.script(std::string(kSseHead) + tokens(50)));
  RunningGateway gateway(
      {.replicas = {engine.port()}, .adjust = [](Config& config) { config.limits.idle_timeout = 150ms; }});
  ask(gateway);
  expect_counted(gateway.rows(1).at(0), "incomplete");
}

TEST(KF26, D_ClientThatClosesWithTheLastEventHasOneRow) {
  ScriptedBackend engine(streaming(whole_stream()));
  RunningGateway gateway({.replicas = {engine.port()}});
  constexpr std::size_t kTimes = 60;
  for (std::size_t i = 0; i < kTimes; ++i) {
    RawConnection client = gateway.connect();
    client.send(post(kStreamBody));
    client.read_until(i % 2 == 0 ? event("hi") : finish_event());
  }
  EXPECT_EQ(gateway.rows(kTimes).size(), kTimes);
  EXPECT_TRUE(gateway.settles_down());
}

TEST(KF26, E_UsageThatCameBeforeTheResetCounts) {
  ScriptedBackend engine(
      breaking_off(std::string(kSseHead) + tokens(3) + chunk(finish_event()) + chunk(usage_event(200, 37))));
  RunningGateway gateway({.replicas = {engine.port()}});
  ask(gateway);
  const SeenRow row = gateway.rows(1).at(0);
  EXPECT_EQ(row.usage_source, "engine");
  EXPECT_EQ(row.prompt, 200);
  EXPECT_EQ(row.completion, 37);
}

TEST(KF26, H_AttemptsBeforeTheAnswerAreChargedAndTheClientPaysOnce) {
  ScriptedBackend first(breaking_off(""));
  ScriptedBackend second(ScriptedBackend::answering(chat_answer(10, 5)));
  RunningGateway gateway({.replicas = {first.port(), second.port()}});
  ask(gateway, kPlainBody);
  const auto rows = gateway.rows(1);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0].replicas, ElementsAre("r0", "r1"));
  EXPECT_EQ(rows[0].prompt, 10);
  EXPECT_EQ(rows[0].completion, 5);
}

TEST(KF26, I_CutByTheRoutersEndHasItsRow) {
  Held engine_side;
  ScriptedBackend engine(engine_side.script(std::string(kSseHead) + tokens(49) + chunk(event("last"))));
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  client.read_until(event("last"));
  gateway.cut();
  expect_counted(gateway.rows(1).at(0), "incomplete");
}

}  // namespace
}  // namespace fareway::testing
