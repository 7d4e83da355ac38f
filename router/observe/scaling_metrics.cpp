#include "router/observe/scaling_metrics.hpp"

#include <cstdint>

#include "router/observe/families.hpp"

namespace fareway {

ScalingMetrics::ScalingMetrics(prometheus::Registry& registry, const Fleet& fleet)
    : pools_(fleet.pools.size()), advice_(fleet.models.size() * fleet.pools.size()) {
  auto& advice = gauges(registry, "fareway_scaling_advice_replicas",
                        "Replicas of the model that should be taken in or let go in the pool: 1 or 0.");
  auto& gain = gauges(registry, "fareway_scaling_gain_usd_per_hour",
                      "What following the advice is worth; 0 without any.");
  auto& misses = gauges(registry, "fareway_scaling_misses_usd_per_hour",
                        "Dollars of misses expected of the model's requests, corrected by those seen.");
  for (const Model& model : fleet.models) misses_.push_back(&misses.Add({{"model", model.name}}));
  for (const Replica& replica : fleet.replicas) {
    const ModelIndex model = fleet[replica.deployment].model;
    const prometheus::Labels labels{{"model", fleet[model].name}, {"pool", fleet[replica.pool].name}};
    const auto change = [&](const char* which) {
      prometheus::Labels more = labels;
      more.emplace("change", which);
      return more;
    };
    advice_[model.value * pools_ + replica.pool.value] = {&advice.Add(change("take_in")),
                                                          &advice.Add(change("let_go")), &gain.Add(labels)};
  }
}

void ScalingMetrics::advised(const ScalingAdvisor& advisor, const Fleet& fleet) {
  for (const Series& series : advice_)
    for (prometheus::Gauge* gauge : {series.take_in, series.let_go, series.gain})
      if (gauge != nullptr) gauge->Set(0);
  for (const FleetAdvice& advice : advisor.standing()) {
    const Series& series = advice_[advice.model.value * pools_ + advice.pool.value];
    const bool take_in = advice.kind == ScalingAdvice::Kind::kTakeIn;
    (take_in ? series.take_in : series.let_go)->Set(1);
    series.gain->Set(advice.gain_per_second.value * kSecondsPerHour);
  }
  for (std::uint32_t model = 0; model < fleet.models.size(); ++model)
    misses_[model]->Set(advisor.misses_per_second({model}).value * kSecondsPerHour);
}

}  // namespace fareway
