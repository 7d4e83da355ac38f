#include "router/observe/metrics.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace fareway {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Not;
using Labels = std::map<std::string, std::string>;

constexpr TimePoint kNow{std::chrono::hours{100}};
constexpr ModelIndex kGlm{0};
constexpr ModelIndex kTiny{1};
constexpr ClassIndex kInteractive{0};
constexpr PoolIndex kMi355x{0};
constexpr NanoUsdPerHour kDollarAnHour{1'000'000'000};

/// "glm" runs on both pools, "tiny" on b300 only.
Fleet sample_fleet() {
  Fleet fleet;
  fleet.models.resize(2);
  fleet.models[0].name = "glm";
  fleet.models[1].name = "tiny";
  fleet.pools.resize(2);
  fleet.pools[0].name = "mi355x";
  fleet.pools[1].name = "b300";
  fleet.classes.resize(1);
  fleet.classes[0].name = "interactive";
  for (const auto& [deployment, model] : {std::pair{"glm-tp8", kGlm}, std::pair{"tiny-tp1", kTiny}}) {
    fleet.deployments.push_back({});
    fleet.deployments.back().name = deployment;
    fleet.deployments.back().model = model;
  }
  for (const auto& [name, pool, deployment] :
       {std::tuple{"mi355x-glm", 0U, 0U}, std::tuple{"b300-glm", 1U, 0U}, std::tuple{"b300-tiny", 1U, 1U}}) {
    Replica replica;
    replica.name = name;
    replica.pool = {pool};
    replica.deployment = {deployment};
    fleet.replicas.push_back(std::move(replica));
  }
  return fleet;
}

LiveFleet live(Fleet fleet) {
  const std::vector<PriceStep> schedule{{WallTime{}, kDollarAnHour}};
  return {std::move(fleet), PriceBook({schedule, schedule}), kNow, WallTime{}};
}

LoadReading reading(std::optional<std::int64_t> running, std::optional<std::int64_t> waiting,
                    std::optional<double> kv_usage) {
  LoadReading reading;
  reading.running = running;
  reading.waiting = waiting;
  reading.kv_usage = kv_usage;
  return reading;
}

/// A request answered whole on mi355x: first token after 0.5 s, 101 tokens in 2.5 s, so 20 ms a token.
LedgerRow whole_answer() {
  LedgerRow row;
  row.outcome = Outcome::kComplete;
  row.usage_source = UsageSource::kEngine;
  row.usage = TokenUsage{{1'000}, {600}, {101}};
  row.price = NanoUsd{2'000'000};
  row.ttft = Seconds{0.5};
  row.duration = Seconds{2.5};
  row.charges = {{"mi355x-glm", "mi355x", NanoUsd{1'500'000}}};
  return row;
}

class MetricsTest : public ::testing::Test {
 protected:
  std::optional<prometheus::ClientMetric> find(const std::string& family, const Labels& labels) const {
    for (const auto& collected : registry_.Collect()) {
      if (collected.name != family) continue;
      for (const auto& metric : collected.metric) {
        Labels own;
        for (const auto& label : metric.label) own[label.name] = label.value;
        if (own == labels) return metric;
      }
    }
    return std::nullopt;
  }
  double counter(const std::string& family, const Labels& labels) const {
    const auto metric = find(family, labels);
    return metric ? metric->counter.value : -1;
  }
  double gauge(const std::string& family, const Labels& labels) const {
    const auto metric = find(family, labels);
    return metric ? metric->gauge.value : -1;
  }
  prometheus::ClientMetric::Histogram histogram(const std::string& family) const {
    const auto metric = find(family, kAnswered);
    return metric ? metric->histogram : prometheus::ClientMetric::Histogram{};
  }
  std::string exposition() const {
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, registry_.Collect());
    return text.str();
  }
  static Labels with(Labels labels, const std::string& name, const std::string& value) {
    labels[name] = value;
    return labels;
  }

  const Labels kAnswered{{"model", "glm"}, {"class", "interactive"}, {"pool", "mi355x"}};
  prometheus::Registry registry_;
  Metrics metrics_{registry_, sample_fleet()};
};

TEST_F(MetricsTest, KnownCombinationsStartAtZeroAndOthersDoNotExist) {
  EXPECT_EQ(counter("fareway_gateway_requests_total", with(kAnswered, "outcome", "complete")), 0);
  EXPECT_EQ(
      find("fareway_gateway_ttft_seconds", {{"model", "tiny"}, {"class", "interactive"}, {"pool", "mi355x"}}),
      std::nullopt);
}

TEST_F(MetricsTest, AWholeAnswerCountsItsTimesTokensAndDollars) {
  metrics_.request_ended(whole_answer(), kGlm, kInteractive, kMi355x);

  EXPECT_EQ(counter("fareway_gateway_requests_total", with(kAnswered, "outcome", "complete")), 1);
  EXPECT_EQ(counter("fareway_gateway_tokens_total", with(kAnswered, "kind", "uncached_prompt")), 400);
  EXPECT_EQ(counter("fareway_gateway_tokens_total", with(kAnswered, "kind", "cached_prompt")), 600);
  EXPECT_EQ(counter("fareway_gateway_tokens_total", with(kAnswered, "kind", "completion")), 101);
  EXPECT_THAT(counter("fareway_gateway_cost_usd_total", kAnswered), DoubleEq(0.0015));
  EXPECT_THAT(counter("fareway_gateway_price_usd_total", kAnswered), DoubleEq(0.002));
  EXPECT_THAT(histogram("fareway_gateway_ttft_seconds").sample_sum, DoubleEq(0.5));
  EXPECT_THAT(histogram("fareway_gateway_request_duration_seconds").sample_sum, DoubleEq(2.5));
  EXPECT_THAT(histogram("fareway_gateway_tpot_seconds").sample_sum, DoubleNear(0.020, 1e-12));
  EXPECT_EQ(counter("fareway_gateway_unpriced_requests_total", {{"model", "glm"}}), 0);
}

TEST_F(MetricsTest, ABrokenAnswerHasNoDurationAndUnknownTokensAndPriceAreCountedAsSuch) {
  LedgerRow row = whole_answer();
  row.outcome = Outcome::kIncomplete;
  row.usage.reset();
  row.price.reset();
  metrics_.request_ended(row, kGlm, kInteractive, kMi355x);

  EXPECT_EQ(histogram("fareway_gateway_ttft_seconds").sample_count, 1);
  EXPECT_EQ(histogram("fareway_gateway_request_duration_seconds").sample_count, 0);
  EXPECT_EQ(counter("fareway_gateway_unpriced_requests_total", {{"model", "glm"}}), 1);
  EXPECT_EQ(counter("fareway_gateway_uncounted_requests_total", {{"model", "glm"}}), 1);
  EXPECT_EQ(counter("fareway_gateway_tokens_total", with(kAnswered, "kind", "completion")), 0);
}

TEST_F(MetricsTest, ARequestThatFailedIsNeitherUnpricedNorUncounted) {
  LedgerRow row;
  row.outcome = Outcome::kFailed;
  metrics_.request_ended(row, kGlm, kInteractive, std::nullopt);
  EXPECT_EQ(counter("fareway_gateway_requests_total",
                    {{"model", "glm"}, {"class", "interactive"}, {"pool", "none"}, {"outcome", "failed"}}),
            1);
  EXPECT_EQ(counter("fareway_gateway_unpriced_requests_total", {{"model", "glm"}}), 0);
  EXPECT_EQ(counter("fareway_gateway_uncounted_requests_total", {{"model", "glm"}}), 0);
}

TEST_F(MetricsTest, EachAttemptsCostBelongsToThePoolItRanOn) {
  LedgerRow row = whole_answer();
  row.charges = {{"b300-glm", "b300", NanoUsd{1'000'000}}, {"mi355x-glm", "mi355x", NanoUsd{3'000'000}}};
  metrics_.request_ended(row, kGlm, kInteractive, kMi355x);
  EXPECT_THAT(counter("fareway_gateway_cost_usd_total", kAnswered), DoubleEq(0.003));
  EXPECT_THAT(counter("fareway_gateway_cost_usd_total", with(kAnswered, "pool", "b300")), DoubleEq(0.001));
}

TEST_F(MetricsTest, MoreCachedThanPromptTokensCountAsAllOfThePrompt) {
  LedgerRow row = whole_answer();
  row.usage = TokenUsage{{10}, {25}, {1}};
  metrics_.request_ended(row, kGlm, kInteractive, kMi355x);
  EXPECT_EQ(counter("fareway_gateway_tokens_total", with(kAnswered, "kind", "cached_prompt")), 10);
  EXPECT_EQ(counter("fareway_gateway_tokens_total", with(kAnswered, "kind", "uncached_prompt")), 0);
  EXPECT_EQ(histogram("fareway_gateway_tpot_seconds").sample_count, 0) << "one token has no gap";
}

TEST_F(MetricsTest, APoolThatDoesNotRunTheModelIsCountedWithoutPool) {
  metrics_.request_ended(whole_answer(), kTiny, kInteractive, kMi355x);
  EXPECT_EQ(counter("fareway_gateway_requests_total",
                    {{"model", "tiny"}, {"class", "interactive"}, {"pool", "none"}, {"outcome", "complete"}}),
            1);
}

TEST_F(MetricsTest, RefusalsAndRetriesCountByReason) {
  metrics_.request_refused("too_large");
  metrics_.request_refused("a new reason");
  metrics_.request_refused("a new reason");
  metrics_.retried("unreachable");
  EXPECT_EQ(counter("fareway_gateway_refused_requests_total", {{"reason", "too_large"}}), 1);
  EXPECT_EQ(counter("fareway_gateway_refused_requests_total", {{"reason", "a new reason"}}), 2);
  EXPECT_EQ(counter("fareway_gateway_refused_requests_total", {{"reason", "unauthorized"}}), 0);
  EXPECT_EQ(counter("fareway_gateway_retries_total", {{"reason", "unreachable"}}), 1);
}

TEST_F(MetricsTest, NeighbouringLatenciesFallIntoDifferentBuckets) {
  const auto buckets_used = [this](const std::string& family) {
    std::size_t used = 0;
    std::uint64_t before = 0;
    for (const auto& bucket : histogram(family).bucket) {
      if (bucket.cumulative_count > before) ++used;
      before = bucket.cumulative_count;
    }
    return used;
  };
  for (const double seconds : {0.05, 2.0, 40.0, 200.0, 590.0}) {
    LedgerRow row;
    row.ttft = Seconds{seconds};
    metrics_.request_ended(row, kGlm, kInteractive, kMi355x);
  }
  EXPECT_EQ(buckets_used("fareway_gateway_ttft_seconds"), 5);
  for (const double seconds : {0.02, 0.3, 3.0, 45.0, 90.0, 250.0, 500.0, 3500.0}) {
    LedgerRow row;
    row.outcome = Outcome::kComplete;
    row.duration = Seconds{seconds};
    metrics_.request_ended(row, kGlm, kInteractive, kMi355x);
  }
  EXPECT_EQ(buckets_used("fareway_gateway_request_duration_seconds"), 8);
  for (const double gap : {0.005, 0.020, 0.080, 2.0}) {
    LedgerRow row = whole_answer();
    row.ttft = Seconds{0};
    row.duration = Seconds{gap * 99};
    row.usage->completion = Tokens{101};
    metrics_.request_ended(row, kGlm, kInteractive, kMi355x);
  }
  EXPECT_EQ(buckets_used("fareway_gateway_tpot_seconds"), 4);
}

TEST_F(MetricsTest, FleetGaugesFollowRotationLoadPriceAndMeter) {
  Fleet fleet = sample_fleet();
  fleet.replicas[0].health.probe_succeeded(kNow, kNow);
  fleet.replicas[0].reading = reading(12, {}, 0.25);
  fleet.replicas[0].in_flight.resize(3);
  LiveFleet fleet_now = live(std::move(fleet));
  fleet_now.tick(kNow + std::chrono::hours{2}, WallTime{});
  metrics_.fleet_changed(fleet_now);
  metrics_.fleet_changed(fleet_now);  // a second look at the same totals adds nothing

  const Labels replica{{"pool", "mi355x"}, {"replica", "mi355x-glm"}};
  EXPECT_EQ(gauge("fareway_replica_in_rotation", replica), 1);
  EXPECT_EQ(gauge("fareway_replica_in_rotation", {{"pool", "b300"}, {"replica", "b300-glm"}}), 0);
  EXPECT_EQ(gauge("fareway_replica_in_flight_requests", replica), 3);
  EXPECT_EQ(gauge("fareway_replica_running_requests", replica), 12);
  EXPECT_EQ(gauge("fareway_replica_kv_usage_ratio", replica), 0.25);
  EXPECT_EQ(find("fareway_replica_waiting_requests", replica), std::nullopt) << "unknown is not zero";
  EXPECT_EQ(gauge("fareway_model_serving_replicas", {{"model", "glm"}}), 1);
  EXPECT_EQ(gauge("fareway_model_serving_replicas", {{"model", "tiny"}}), 0);
  EXPECT_EQ(gauge("fareway_pool_price_usd_per_device_hour", {{"pool", "mi355x"}}), 1);
  EXPECT_EQ(gauge("fareway_replica_rate_usd_per_hour", replica), 1);
  EXPECT_THAT(counter("fareway_replica_idle_usd_total", replica), DoubleNear(2.0, 1e-9));
}

TEST_F(MetricsTest, AReadingThatStopsSayingSomethingTakesItsSeriesAway) {
  Fleet fleet = sample_fleet();
  fleet.replicas[0].reading = reading(1, {}, {});
  metrics_.fleet_changed(live(fleet));
  fleet.replicas[0].reading = LoadReading{};
  metrics_.fleet_changed(live(fleet));
  EXPECT_EQ(find("fareway_replica_running_requests", {{"pool", "mi355x"}, {"replica", "mi355x-glm"}}),
            std::nullopt);
  fleet.replicas[0].reading = reading(2, {}, {});
  metrics_.fleet_changed(live(fleet));
  EXPECT_EQ(gauge("fareway_replica_running_requests", {{"pool", "mi355x"}, {"replica", "mi355x-glm"}}), 2);
}

TEST(MetricsNames, WithQuotesAndLineFeedsAreEscaped) {
  Fleet fleet = sample_fleet();
  fleet.models[0].name = "a\"b\\c\nd{e=\"f\"} 1";
  prometheus::Registry registry;
  const Metrics metrics(registry, fleet);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, registry.Collect());
  EXPECT_THAT(text.str(), HasSubstr(R"(model="a\"b\\c\nd{e=\"f\"} 1")"));
  EXPECT_THAT(text.str(), Not(HasSubstr("\nd{")));
}

/// Every name in the first column of docs/metrics.md's tables.
std::set<std::string> documented_families() {
  std::ifstream file(FAREWAY_SOURCE_DIR "/docs/metrics.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::regex row("\n\\| `(fareway_[a-z0-9_]+)`");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

TEST_F(MetricsTest, EveryFamilyIsDocumentedAndEveryDocumentedFamilyExists) {
  Fleet fleet = sample_fleet();
  fleet.replicas[0].reading = reading(1, 1, 0.5);
  fleet.replicas[0].correction.saw_step({.step_floor = 0.01}, 1, 100, Seconds{0.01});
  metrics_.fleet_changed(live(std::move(fleet)));
  metrics_.retried("unreachable");
  std::set<std::string> exported;
  for (const auto& family : registry_.Collect())
    if (!family.metric.empty()) exported.insert(family.name);
  EXPECT_EQ(exported, documented_families());
}

}  // namespace
}  // namespace fareway
