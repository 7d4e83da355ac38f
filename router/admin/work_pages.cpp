#include "placement/scaling/advisor.hpp"
#include "router/admin/json.hpp"
#include "router/admin/pages.hpp"

namespace fareway {

AdminAnswer queue_page(const std::vector<QueueView>& waiting, const Fleet& fleet) {
  Json rows = Json::array();
  for (const QueueView& view : waiting)
    rows.push_back({{"model", fleet[view.model].name},
                    {"class", fleet[view.service_class].name},
                    {"requests", view.depth.requests},
                    {"bytes", view.depth.bytes},
                    {"work_usd", view.depth.work.value}});
  return json_answer(200, {{"waiting", std::move(rows)}});
}

AdminAnswer scaling_page(const std::vector<FleetAdvice>& advice, const std::vector<Usd>& misses_per_second,
                         const Fleet& fleet, TimePoint now) {
  constexpr double kHour = 3600;
  Json rows = Json::array();
  for (const FleetAdvice& one : advice)
    rows.push_back({{"change", one.kind == ScalingAdvice::Kind::kTakeIn ? "take_in" : "let_go"},
                    {"model", fleet[one.model].name},
                    {"pool", fleet[one.pool].name},
                    {"replica", one.replica ? Json(fleet[*one.replica].name) : Json(nullptr)},
                    {"gain_usd_per_hour", one.gain_per_second.value * kHour},
                    {"rate_usd_per_hour", one.rate_per_second.value * kHour},
                    {"misses_usd_per_hour", one.misses_per_second.value * kHour},
                    {"seconds", Seconds(now - one.since).count()},
                    {"reason", advice_text(one, fleet)}});
  Json models = Json::array();
  for (std::size_t i = 0; i < misses_per_second.size(); ++i)
    models.push_back(
        {{"model", fleet.models[i].name}, {"misses_usd_per_hour", misses_per_second[i].value * kHour}});
  return json_answer(200, {{"advice", std::move(rows)}, {"models", std::move(models)}});
}

AdminAnswer drain_page(const std::vector<Drained>& replicas, const Fleet& fleet) {
  Json rows = Json::array();
  for (const Drained& one : replicas)
    rows.push_back({{"replica", fleet[one.replica].name},
                    {"pool", fleet[fleet[one.replica].pool].name},
                    {"draining", one.draining},
                    {"in_flight", one.in_flight}});
  return json_answer(200, {{"replicas", std::move(rows)}});
}

}  // namespace fareway
