#include "router/admin/explain.hpp"
#include "router/admin/explain_text.hpp"
#include "router/admin/json.hpp"
#include "router/admin/pages.hpp"

namespace fareway {

namespace {

Json tokens_or_null(const std::optional<Tokens>& tokens) {
  return tokens ? Json(tokens->value) : Json(nullptr);
}

Json candidate_json(const Candidate& candidate, const Decision& decision, const Fleet& fleet) {
  const Replica& replica = fleet[candidate.replica];
  Json json{{"replica", replica.name},
            {"pool", fleet[replica.pool].name},
            {"chosen", decision.chosen == candidate.replica},
            {"excluded_by", nullptr}};
  if (!candidate.excluded_by.empty()) {
    // Nothing was predicted for it, and a zero would look like a price.
    json["excluded_by"] = candidate.excluded_by;
    if (!candidate.rule.empty()) json["rule"] = candidate.rule;
    for (const char* unknown : {"load_age_seconds", "cached_tokens", "added_gpu_seconds", "predicted", "usd"})
      json[unknown] = nullptr;
    return json;
  }
  json["load_age_seconds"] = candidate.reading_age ? Json(candidate.reading_age->count()) : Json(nullptr);
  json["cached_tokens"] = candidate.cached.value;
  json["added_gpu_seconds"] = candidate.added_work.count();
  json["predicted"] = {{"ttft_seconds", candidate.prediction.ttft.count()},
                       {"tpot_seconds", candidate.prediction.tpot.count()},
                       {"miss_probability", candidate.prediction.miss_probability}};
  json["usd"] = {{"gpu", candidate.score.gpu.value},
                 {"own_miss", candidate.score.own_miss.value},
                 {"others_miss", candidate.score.others_miss.value},
                 {"preference", candidate.score.preference.value},
                 {"total", candidate.score.total().value}};
  return json;
}

Json attempt_json(const RequestShape& shape, const Decision& decision, const Fleet& fleet) {
  Json candidates = Json::array();
  for (const Candidate& candidate : decision.candidates)
    candidates.push_back(candidate_json(candidate, decision, fleet));
  const auto less = margin(decision);
  return {{"chosen", decision.chosen ? Json(fleet[*decision.chosen].name) : Json(nullptr)},
          {"margin_usd", less ? Json(less->value) : Json(nullptr)},
          {"reason", explain(shape, decision, fleet)},
          {"candidates", std::move(candidates)}};
}

/// Null where it went to a replica at once.
Json queue_json(const DecisionRecord& record) {
  if (!record.queue) return nullptr;
  const auto& turned_away = record.queue->turned_away;
  return {{"waited_seconds", record.queue->waited.count()},
          {"misses_at_first_usd", record.queue->misses_at_first.value},
          {"for_cheaper_hour", record.queue->for_cheaper_hour},
          {"turned_away", turned_away ? Json(to_string(*turned_away)) : Json(nullptr)}};
}

Json request_json(const DecisionRecord& record, const Fleet& fleet) {
  const RequestShape& shape = record.shape;
  return {{"request_id", record.request_id},
          {"decided_at", calendar(record.decided_at)},
          {"tenant", record.tenant},
          {"model", fleet[shape.model].name},
          {"class", fleet[shape.service_class].name},
          {"queue", queue_json(record)},
          {"shape",
           {{"prompt_tokens", shape.prompt.value},
            {"expected_output_tokens", shape.expected_output.value},
            {"output_limit_tokens", tokens_or_null(shape.output_limit)},
            {"has_session", shape.session != 0}}}};
}

/// What came of it; everything is null while the request runs.
Json result_json(const DecisionRecord& record, const Fleet& fleet) {
  Json json{{"outcome", nullptr},  {"status", nullptr}, {"ttft_seconds", nullptr}, {"late_seconds", nullptr},
            {"miss_usd", nullptr}, {"usage", nullptr},  {"cost", nullptr},         {"price", nullptr}};
  if (record.ttft) json["ttft_seconds"] = record.ttft->count();
  if (!record.outcome) return json;
  if (const auto late = lateness_of(record, fleet)) {
    json["late_seconds"] = late->count();
    json["miss_usd"] = fleet[record.shape.service_class].miss_dollars(*late).value;
  }
  json["outcome"] = to_string(*record.outcome);
  if (record.status != 0) json["status"] = record.status;
  if (record.usage) {
    json["usage"] = {{"prompt_tokens", record.usage->prompt.value},
                     {"cached_tokens", record.usage->cached.value},
                     {"completion_tokens", record.usage->completion.value}};
  }
  json["cost"] = money(record.cost);
  if (record.price) json["price"] = money(*record.price);
  return json;
}

Json summary_json(const DecisionRecord& record, const Fleet& fleet) {
  Json json = request_json(record, fleet);
  json["attempts"] = record.attempts.size();
  for (const char* unknown : {"replica", "pool", "margin_usd", "reason"}) json[unknown] = nullptr;
  if (!record.attempts.empty()) {
    const Decision& last = record.attempts.back();
    json["reason"] = explain(record.shape, last, fleet);
    if (const auto less = margin(last)) json["margin_usd"] = less->value;
    if (last.chosen) {
      json["replica"] = fleet[*last.chosen].name;
      json["pool"] = fleet[fleet[*last.chosen].pool].name;
    }
  }
  json.update(result_json(record, fleet));
  return json;
}

}  // namespace

AdminAnswer decisions_page(const std::vector<DecisionRecord>& records, const Fleet& fleet) {
  Json decisions = Json::array();
  for (const DecisionRecord& record : records) decisions.push_back(summary_json(record, fleet));
  return json_answer(200, {{"decisions", std::move(decisions)}});
}

AdminAnswer decision_text_page(const DecisionRecord& record, const Fleet& fleet) {
  return {.status = 200,
          .content_type = "text/plain; charset=utf-8",
          .body = explain_text(record, fleet),
          .headers = {}};
}

AdminAnswer decision_page(const DecisionRecord& record, const Fleet& fleet) {
  Json json = request_json(record, fleet);
  json["attempts"] = Json::array();
  for (const Decision& attempt : record.attempts)
    json["attempts"].push_back(attempt_json(record.shape, attempt, fleet));
  json["result"] = result_json(record, fleet);
  return json_answer(200, json);
}

}  // namespace fareway
