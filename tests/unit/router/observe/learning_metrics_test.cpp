#include "router/observe/learning_metrics.hpp"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;

class LearningMetricsTest : public ::testing::Test {
 protected:
  LearningMetricsTest() {
    builder.add({.name = "a"});
    metrics = std::make_unique<LearningMetrics>(registry, builder.fleet());
  }

  /// A whole stream of an interactive request (TTFT within 1 s, 20 ms a token) for which a miss was given
  /// `probability`.
  DecisionRecord answered(Seconds ttft, double probability) const {
    DecisionRecord record;
    Candidate candidate{.replica = {0}};
    candidate.prediction = {.ttft = Seconds{0.5}, .tpot = Seconds{0.010}, .miss_probability = probability};
    record.attempts = {Decision{.chosen = ReplicaIndex{0}, .candidates = {candidate}}};
    record.outcome = Outcome::kComplete;
    record.ttft = ttft;
    record.duration = ttft + Seconds{1};
    record.usage = TokenUsage{{100}, {}, {101}};
    return record;
  }

  double value(const std::string& family, const prometheus::ClientMetric::Label& first,
               const prometheus::ClientMetric::Label& second) const {
    for (const auto& one : registry.Collect()) {
      if (one.name != family) continue;
      for (const auto& metric : one.metric) {
        const auto has = [&](const auto& label) {
          return std::find(metric.label.begin(), metric.label.end(), label) != metric.label.end();
        };
        if (has(first) && has(second))
          return one.type == prometheus::MetricType::Histogram ? metric.histogram.sample_sum
                 : one.type == prometheus::MetricType::Gauge   ? metric.gauge.value
                                                               : metric.counter.value;
      }
    }
    return -1;
  }
  double predicted(const char* up_to, const char* result) const {
    return value("fareway_placement_predicted_requests_total", {"predicted_up_to", up_to},
                 {"result", result});
  }

  FleetBuilder builder;
  prometheus::Registry registry;
  std::unique_ptr<LearningMetrics> metrics;
};

TEST_F(LearningMetricsTest, CountOutcomesByWhatWasPredicted) {
  metrics->request_ended(answered(Seconds{0.5}, 0.07), builder.fleet());
  metrics->request_ended(answered(Seconds{1.5}, 0.07), builder.fleet());
  metrics->request_ended(answered(Seconds{1.5}, 1.0), builder.fleet());
  EXPECT_EQ(predicted("0.1", "met"), 1);
  EXPECT_EQ(predicted("0.1", "missed"), 1);
  EXPECT_EQ(predicted("1", "missed"), 1);
  EXPECT_EQ(predicted("0.05", "met"), 0);
  EXPECT_EQ(value("fareway_gateway_objectives_total", {"class", "interactive"}, {"result", "missed"}), 2);
}

TEST_F(LearningMetricsTest, CompareMeasuredWithPredictedTimes) {
  metrics->request_ended(answered(Seconds{1}, 0.1), builder.fleet());
  EXPECT_DOUBLE_EQ(value("fareway_placement_prediction_ratio", {"pool", "a"}, {"of", "ttft"}), 2);
  EXPECT_DOUBLE_EQ(value("fareway_placement_prediction_ratio", {"pool", "a"}, {"of", "tpot"}), 1);
}

TEST_F(LearningMetricsTest, LearnNothingFromAnAnswerThatBrokeOff) {
  DecisionRecord broken = answered(Seconds{1.5}, 0.07);
  broken.outcome = Outcome::kIncomplete;
  metrics->request_ended(broken, builder.fleet());
  metrics->request_ended(DecisionRecord{}, builder.fleet());
  EXPECT_EQ(predicted("0.1", "missed"), 0);
}

TEST_F(LearningMetricsTest, ShowWhatWasLearnedOfAReplicaOnceSomethingWas) {
  for (int i = 0; i < 10; ++i)
    builder.fleet().replicas[0].correction.saw_step(builder.fleet().deployments[0].speed, 1, 100,
                                                    Seconds{0.030});
  const LiveFleet live(builder.fleet(), PriceBook{std::vector<std::vector<PriceStep>>{{{WallTime{}, {1}}}}},
                       kNow, WallTime{});
  metrics->fleet_changed(live);
  EXPECT_NEAR(value("fareway_replica_speed_ratio", {"replica", "a"}, {"of", "decode"}), 3, 0.2);
  EXPECT_EQ(value("fareway_replica_speed_ratio", {"replica", "a"}, {"of", "prefill"}), -1) << "absent";
  EXPECT_EQ(value("fareway_replica_slow", {"replica", "a"}, {"pool", "a"}), 1);
}

}  // namespace
}  // namespace fareway
