#include "router/observe/learning_metrics.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "placement/slow_downs.hpp"

namespace fareway {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Histogram;
using prometheus::Labels;

/// From a quarter to four times, closest around 1: what a prediction may be off by.
const Histogram::BucketBoundaries kRatios{0.25, 0.33, 0.5, 0.64, 0.8, 0.9, 1, 1.1, 1.25, 1.56, 2, 3, 4};
constexpr std::int64_t kTokensToJudgeTpot = 16;

std::optional<double> measured(const SpeedFactor& factor) {
  return factor.seen > 0 ? std::optional(factor.factor) : std::nullopt;
}

}  // namespace

LearningMetrics::LearningMetrics(prometheus::Registry& registry, const Fleet& fleet) {
  auto& outcomes =
      BuildCounter()
          .Name("fareway_placement_predicted_requests_total")
          .Help("Whole answers by the probability of a miss predicted for them, and what came of it.")
          .Register(registry);
  for (std::size_t i = 0; i < kPredicted.size(); ++i) {
    const std::string up_to = fmt::format("{}", kPredicted[i]);
    by_prediction_[i] = {&outcomes.Add({{"predicted_up_to", up_to}, {"result", "met"}}),
                         &outcomes.Add({{"predicted_up_to", up_to}, {"result", "missed"}})};
  }
  auto& objectives =
      BuildCounter()
          .Name("fareway_gateway_objectives_total")
          .Help("Whole answers whose times are known, by whether they met their class's targets.")
          .Register(registry);
  for (const ServiceClass& one : fleet.classes) {
    by_class_.push_back({&objectives.Add({{"class", one.name}, {"result", "met"}}),
                         &objectives.Add({{"class", one.name}, {"result", "missed"}})});
  }
  auto& ratios = BuildHistogram()
                     .Name("fareway_placement_prediction_ratio")
                     .Help("Measured over predicted time; 1 is right, 2 took twice as long.")
                     .Register(registry);
  for (const Pool& pool : fleet.pools) {
    by_pool_.push_back({&ratios.Add({{"pool", pool.name}, {"of", "ttft"}}, kRatios),
                        &ratios.Add({{"pool", pool.name}, {"of", "tpot"}}, kRatios)});
  }
  auto& speed = BuildGauge()
                    .Name("fareway_replica_speed_ratio")
                    .Help("Measured time over the profile's, as learned; absent until something was seen.")
                    .Register(registry);
  auto& slow =
      BuildGauge()
          .Name("fareway_replica_slow")
          .Help("1 while the replica is slower than its siblings or its profile beyond chance, else 0.")
          .Register(registry);
  for (const Replica& replica : fleet.replicas) {
    const Labels labels{{"pool", fleet[replica.pool].name}, {"replica", replica.name}};
    const auto of = [&](const char* phase) {
      Labels more = labels;
      more.emplace("of", phase);
      return OptionalGauge(speed, more);
    };
    by_replica_.push_back({of("prefill"), of("decode"), &slow.Add(labels)});
  }
}

void LearningMetrics::request_ended(const DecisionRecord& record, const Fleet& fleet) {
  if (record.attempts.empty() || record.outcome != Outcome::kComplete) return;
  const Candidate* chosen = record.attempts.back().chosen_candidate();
  if (chosen == nullptr) return;
  if (const auto late = lateness_of(record, fleet)) {
    const bool met = *late <= Seconds{0};
    const auto place =
        std::ranges::lower_bound(kPredicted, std::min(1.0, chosen->prediction.miss_probability));
    const Outcomes& predicted = by_prediction_[static_cast<std::size_t>(place - kPredicted.begin())];
    const Outcomes& objective = by_class_[record.shape.service_class.value];
    (met ? predicted.met : predicted.missed)->Increment();
    (met ? objective.met : objective.missed)->Increment();
  }
  const Ratios& ratios = by_pool_[fleet[chosen->replica].pool.value];
  if (!record.ttft || chosen->prediction.ttft <= Seconds{0}) return;
  ratios.ttft->Observe((*record.ttft - record.shape.waited) / chosen->prediction.ttft);
  const std::int64_t tokens = record.usage ? record.usage->completion.value : 0;
  if (tokens < kTokensToJudgeTpot || !record.duration || chosen->prediction.tpot <= Seconds{0}) return;
  const Seconds tpot = (*record.duration - *record.ttft) / static_cast<double>(tokens - 1);
  ratios.tpot->Observe(tpot / chosen->prediction.tpot);
}

void LearningMetrics::fleet_changed(const LiveFleet& live) {
  const Fleet& fleet = live.fleet();
  for (std::size_t i = 0; i < by_replica_.size(); ++i) {
    by_replica_[i].prefill.set(measured(fleet.replicas[i].correction.prefill()));
    by_replica_[i].decode.set(measured(fleet.replicas[i].correction.decode()));
    by_replica_[i].slow->Set(0);
  }
  for (const SlowDown& slow : slow_downs(fleet)) by_replica_[slow.replica.value].slow->Set(1);
}

}  // namespace fareway
