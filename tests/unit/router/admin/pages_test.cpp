#include "router/admin/pages.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "sample_fleet.hpp"

namespace fareway {
namespace {

using nlohmann::json;
using namespace fareway::testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                                   // vocabulary
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

json body_of(const AdminAnswer& answer) {
  return json::parse(answer.body);
}

Readiness ready() {
  return {.ledger_trouble = {}, .serving = {{3, 0}}};
}

TEST(ReadinessPage, IsReadyWithOneModelServedAndSaysHowManyReplicasEachHas) {
  const AdminAnswer answer = readiness_page(ready(), sample_fleet());
  EXPECT_EQ(answer.status, 200);
  const json body = body_of(answer);
  EXPECT_EQ(body.at("ready"), true);
  EXPECT_EQ(body.at("reasons"), json::array());
  EXPECT_EQ(body.at("models"), json::parse(R"([{"model":"glm","replicas_serving":3,"replicas":3},
                                               {"model":"qwen","replicas_serving":0,"replicas":1}])"));
}

TEST(ReadinessPage, GivesEveryReasonAgainst) {
  const Readiness readiness{
      .draining = true, .ledger_backlog = 10'001, .ledger_trouble = "disk full", .serving = {{0, 0}}};
  const AdminAnswer answer = readiness_page(readiness, sample_fleet());
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(body_of(answer).at("reasons").get<std::vector<std::string>>(),
              UnorderedElementsAre(HasSubstr("draining"), "no model has a replica in rotation",
                                   "ledger backlog is 10001 rows, above 10000: disk full"));
}

TEST(ReadinessPage, AcceptsABacklogUpToTheLimitAndRefusesABusyDataLoop) {
  Readiness readiness = ready();
  readiness.ledger_backlog = 10'000;
  EXPECT_EQ(readiness_page(readiness, sample_fleet()).status, 200);
  readiness.serving.reset();
  const AdminAnswer answer = readiness_page(readiness, sample_fleet());
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(body_of(answer).at("models"), nullptr);
  EXPECT_THAT(answer.body, HasSubstr("data loop busy"));
}

/// The page of a fleet 90 seconds after it was made, with throughput as the readings give it.
json fleet_json(const Fleet& fleet, const ThroughputWindow& throughput = ThroughputWindow(4)) {
  LiveFleet now = live(fleet);
  now.tick(kNow + seconds{90}, kWallNow);
  return body_of(fleet_page(view_of(now, throughput, kNow + seconds{90}, kWallNow), sample_fleet()));
}

TEST(FleetPage, ShowsPoolsAsConfiguredWithThePriceThatHolds) {
  const json page = fleet_json(sample_fleet());
  EXPECT_EQ(page.at("at"), "2026-11-30T20:18:00.123Z");
  ASSERT_EQ(page.at("pools").size(), 3);
  const json& pool = page.at("pools")[0];
  EXPECT_EQ(pool.at("pool"), "mi355x");
  EXPECT_EQ(pool.at("device"), "mi355x");
  EXPECT_EQ(pool.at("capacity"), "reserved");
  EXPECT_EQ(pool.at("region"), "eu-west");
  EXPECT_EQ(pool.at("price_usd_per_device_hour"), 2.5);
  EXPECT_EQ(pool.at("devices"), 8);
  EXPECT_EQ(pool.at("rate_usd_per_hour"), 20.0);
  EXPECT_EQ(page.at("pools")[2].at("region"), nullptr);
  EXPECT_EQ(page.at("pools")[2].at("replicas").size(), 2);
}

TEST(FleetPage, ShowsWhatAReplicaHoldsAndItsDollarsExactly) {
  const json replica = fleet_json(sample_fleet()).at("pools")[0].at("replicas")[0];
  EXPECT_EQ(replica.at("replica"), "mi355x-glm");
  EXPECT_EQ(replica.at("deployment"), "glm-mi355x-tp8");
  EXPECT_EQ(replica.at("model"), "glm");
  EXPECT_EQ(replica.at("parallelism").at("tp"), 8);
  EXPECT_EQ(replica.at("hbm_bytes"), 8 * 288 * kGibibyte);
  EXPECT_EQ(replica.at("kv_pool_bytes"), 1'400 * kGibibyte);
  EXPECT_EQ(replica.at("kv_capacity_tokens"), 22'937'600);  // 1,400 GiB at 64 KiB a token
  EXPECT_EQ(replica.at("longest_sequence_tokens"), 22'937'600);
  EXPECT_EQ(replica.at("context_limit_tokens"), 131'072);
  // 90 s idle at 8 × $2.50 an hour
  EXPECT_EQ(replica.at("idle"), json::parse(R"({"nanousd": 500000000, "text": "$0.50"})"));
  EXPECT_EQ(replica.at("charged").at("nanousd"), 0);
  EXPECT_EQ(replica.at("health"), json::parse(R"({"state": "serving", "reason": null, "seconds": 90.0})"));
}

TEST(FleetPage, ShowsReportedLoadBesideOwnRequestsAndUnknownAsNull) {
  Fleet fleet = sample_fleet();
  LiveFleet now = live(fleet);
  LoadReading reading;
  reading.running = 12;
  reading.kv_usage = 0.63;
  now.apply(kMi355xGlm, reading, kNow + seconds{80}, kNow + seconds{80});
  const Flight first = now.begin(shape(100, 10), feasible(kMi355xGlm, {}), kNow + seconds{85});
  const Flight second = now.begin(shape(100, 10), feasible(kMi355xGlm, {}), kNow + seconds{85});
  now.first_token(first, kNow + seconds{86});
  const FleetView view = view_of(now, ThroughputWindow(4), kNow + seconds{90}, kWallNow);
  const json replica = body_of(fleet_page(view, fleet)).at("pools")[0].at("replicas")[0];
  EXPECT_EQ(replica.at("reported").at("age_seconds"), 10.0);
  EXPECT_EQ(replica.at("reported").at("running"), 12);
  EXPECT_EQ(replica.at("reported").at("waiting"), nullptr);
  EXPECT_EQ(replica.at("reported").at("kv_usage"), 0.63);
  EXPECT_EQ(replica.at("in_flight"), json::parse(R"({"decoding": 1, "before_first_token": 1})"));
  EXPECT_EQ(body_of(fleet_page(view, fleet)).at("pools")[1].at("replicas")[0].at("reported"), nullptr);
  EXPECT_EQ(second.replica, kMi355xGlm);
}

TEST(FleetPage, SaysWhyAReplicaIsOutAndThatAnUnprobedOneIsUnknown) {
  Fleet fleet = sample_fleet();
  fleet.replicas[0].health.connection_failed(kNow + seconds{60});
  fleet.replicas[1].health = ReplicaHealth{};
  const json pools = fleet_json(fleet).at("pools");
  EXPECT_EQ(pools[0].at("replicas")[0].at("health"),
            json::parse(R"({"state": "out", "reason": "connection failed", "seconds": 30.0})"));
  EXPECT_EQ(pools[1].at("replicas")[0].at("health"),
            json::parse(R"({"state": "unknown", "reason": "not probed yet", "seconds": null})"));
}

TEST(FleetPage, DollarsAMillionTokensAreRateOverThroughputAndNullWhereEitherIsUnknown) {
  Fleet fleet = sample_fleet();
  ThroughputWindow throughput(4);
  const auto read = [&](TimePoint at, std::int64_t busy, std::int64_t idle) {
    fleet.replicas[0].reading.emplace().generated_tokens = busy;
    fleet.replicas[2].reading.emplace().generated_tokens = busy;
    fleet.replicas[1].reading.emplace().generated_tokens = idle;
    for (Replica& replica : fleet.replicas) replica.read_at = at;
    throughput.fleet_changed(fleet);
  };
  read(kNow + seconds{80}, 0, 5);
  read(kNow + seconds{90}, 10'000, 5);

  const json pools = fleet_json(fleet, throughput).at("pools");
  EXPECT_EQ(pools[0].at("generated_tokens_per_second"), 1'000.0);
  // $20 an hour ÷ 3.6 million tokens an hour
  EXPECT_NEAR(pools[0].at("usd_per_million_tokens").get<double>(), 20.0 / 3.6, 1e-9);
  EXPECT_EQ(pools[1].at("generated_tokens_per_second"), 0.0);
  EXPECT_EQ(pools[1].at("usd_per_million_tokens"), nullptr) << "nothing generated";
  EXPECT_EQ(pools[2].at("replicas")[1].at("generated_tokens_per_second"), nullptr);
  EXPECT_EQ(pools[2].at("measured_replicas"), 1) << "one of its two replicas is unknown";
  // 8 × $1.99 an hour, without the replica that is unknown
  EXPECT_NEAR(pools[2].at("usd_per_million_tokens").get<double>(), 15.92 / 3.6, 1e-9);
}

TEST(DecisionPage, ShowsEveryCandidateWithItsDollarsAndWhatHappened) {
  DecisionRecord record;
  record.request_id = "req-1";
  fill_sample(record);
  finish_sample(record);
  const json page = body_of(decision_page(record, sample_fleet()));

  EXPECT_EQ(page.at("request_id"), "req-1");
  EXPECT_EQ(page.at("model"), "glm");
  EXPECT_EQ(page.at("class"), "interactive");
  EXPECT_EQ(page.at("shape").at("prompt_tokens"), 200'000);
  EXPECT_EQ(page.at("shape").at("output_limit_tokens"), 400);
  const json& attempt = page.at("attempts")[0];
  EXPECT_EQ(attempt.at("chosen"), "mi355x-glm");
  EXPECT_NEAR(attempt.at("margin_usd").get<double>(), 0.00045, 1e-12);
  EXPECT_THAT(attempt.at("reason").get<std::string>(), HasSubstr("cheaper GPU seconds"));
  ASSERT_EQ(attempt.at("candidates").size(), 3);
  const json& chosen = attempt.at("candidates")[0];
  EXPECT_EQ(chosen.at("chosen"), true);
  EXPECT_EQ(chosen.at("pool"), "mi355x");
  EXPECT_EQ(chosen.at("excluded_by"), nullptr);
  EXPECT_EQ(chosen.at("usd").at("gpu"), 0.0010);
  EXPECT_EQ(chosen.at("usd").at("own_miss"), 0.00018);
  EXPECT_EQ(chosen.at("usd").at("others_miss"), 0.00005);
  EXPECT_NEAR(chosen.at("usd").at("total").get<double>(), 0.00123, 1e-12);
  EXPECT_EQ(chosen.at("predicted").at("ttft_seconds"), 0.4);
  EXPECT_EQ(chosen.at("predicted").at("miss_probability"), 0.03);
  const json& too_small = attempt.at("candidates")[2];
  EXPECT_EQ(too_small.at("excluded_by"), "context");
  EXPECT_EQ(too_small.at("usd"), nullptr);
  const json& result = page.at("result");
  EXPECT_EQ(result.at("outcome"), "complete");
  EXPECT_EQ(result.at("status"), 200);
  EXPECT_EQ(result.at("ttft_seconds"), 0.5);
  EXPECT_EQ(result.at("usage").at("cached_tokens"), 4'096);
  EXPECT_EQ(result.at("cost"), json::parse(R"({"nanousd": 1310000, "text": "$0.00131"})"));
  EXPECT_EQ(result.at("price").at("nanousd"), 2'000'000);
}

TEST(DecisionPage, OfARunningRequestKnowsNoResult) {
  DecisionRecord record;
  fill_sample(record);
  const json result = body_of(decision_page(record, sample_fleet())).at("result");
  for (const char* unknown : {"outcome", "status", "ttft_seconds", "usage", "cost", "price"}) {
    EXPECT_EQ(result.at(unknown), nullptr) << unknown;
  }
}

TEST(DecisionsPage, SumsUpTheLastAttemptOfEach) {
  DecisionRecord record;
  record.request_id = "req-2";
  fill_sample(record);
  record.attempts.push_back(
      {kB300Glm, {excluded(kMi355xGlm, "failed_before"), feasible(kB300Glm, {{0.0014}, {}, {}})}});
  DecisionRecord empty;
  const json decisions = body_of(decisions_page({record, empty}, sample_fleet())).at("decisions");
  ASSERT_EQ(decisions.size(), 2);
  EXPECT_EQ(decisions[0].at("request_id"), "req-2");
  EXPECT_EQ(decisions[0].at("attempts"), 2);
  EXPECT_EQ(decisions[0].at("replica"), "b300-glm");
  EXPECT_EQ(decisions[0].at("pool"), "b300");
  EXPECT_THAT(decisions[0].at("reason").get<std::string>(), HasSubstr("already failed this request"));
  EXPECT_EQ(decisions[0].at("outcome"), nullptr);
  EXPECT_EQ(decisions[1].at("replica"), nullptr);
  EXPECT_EQ(decisions[1].at("reason"), nullptr);
}

TEST(DecisionView, LeavesThePromptsBlockKeysBehind) {
  DecisionRecord record;
  fill_sample(record);
  finish_sample(record);
  record.shape.prefix.assign(1'000, BlockKey{7});
  const DecisionRecord view = view_of(record);
  EXPECT_TRUE(view.shape.prefix.empty());
  EXPECT_EQ(decision_page(view, sample_fleet()).body, decision_page(record, sample_fleet()).body);
}

TEST(Pages, WithNamesThatAreNotUtf8AreStillJson) {
  Fleet fleet = sample_fleet();
  fleet.pools[0].name = "bad \xff name";
  const FleetView view = view_of(live(fleet), ThroughputWindow(4), kNow, kWallNow);
  EXPECT_EQ(body_of(fleet_page(view, fleet)).at("pools")[0].at("pool"), "bad \xEF\xBF\xBD name");
}

}  // namespace
}  // namespace fareway
