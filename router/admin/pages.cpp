#include "router/admin/pages.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "router/admin/json.hpp"

namespace fareway {

namespace {

std::vector<std::string> reasons_not_ready(const Readiness& readiness) {
  std::vector<std::string> reasons;
  if (readiness.draining)
    reasons.emplace_back("draining: the process is shutting down and takes no new requests");
  if (!readiness.serving) {
    reasons.emplace_back("data loop busy: it did not answer in time");
  } else if (std::ranges::all_of(*readiness.serving, [](std::size_t replicas) { return replicas == 0; })) {
    reasons.emplace_back("no model has a replica in rotation");
  }
  if (readiness.ledger_backlog > kMostBacklogRows) {
    reasons.push_back(fmt::format("ledger backlog is {} rows, above {}{}{}", readiness.ledger_backlog,
                                  kMostBacklogRows, readiness.ledger_trouble.empty() ? "" : ": ",
                                  readiness.ledger_trouble));
  }
  return reasons;
}

}  // namespace

AdminAnswer health_page() {
  return json_answer(200, {{"status", "alive"}});
}

AdminAnswer readiness_page(const Readiness& readiness, const Fleet& fleet) {
  const auto reasons = reasons_not_ready(readiness);
  Json models = nullptr;
  if (readiness.serving) {
    models = Json::array();
    for (std::size_t i = 0; i < fleet.models.size(); ++i) {
      const auto runs_model = [&](const Replica& r) { return fleet[r.deployment].model.value == i; };
      models.push_back({{"model", fleet.models[i].name},
                        {"replicas_serving", (*readiness.serving)[i]},
                        {"replicas", std::ranges::count_if(fleet.replicas, runs_model)}});
    }
  }
  return json_answer(reasons.empty() ? 200 : 503, {{"ready", reasons.empty()},
                                                   {"reasons", reasons},
                                                   {"models", std::move(models)},
                                                   {"ledger_backlog_rows", readiness.ledger_backlog}});
}

AdminAnswer metrics_page(const prometheus::Registry& registry) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, registry.Collect());
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = std::move(text).str(),
          .headers = {}};
}

}  // namespace fareway
