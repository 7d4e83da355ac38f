#include "adapters/engines/llamacpp.hpp"

#include <limits>

#include <nlohmann/json.hpp>

#include "adapters/engines/gates.hpp"
#include "adapters/engines/prometheus_text.hpp"

namespace fareway {
namespace {

using nlohmann::json;

constexpr const char* kMetricsDisabled = "metrics are switched off; start llama-server with --metrics";

/// Never throws; `is_discarded()` where the text is not JSON.
json parse_json(std::string_view text) {
  return json::parse(text, nullptr, false);
}

/// Message of an error answer, `{"error":{"message":…}}`; empty where there is none.
std::string error_message(std::string_view body) {
  const json answer = parse_json(body);
  const auto error = answer.find("error");
  if (error == answer.end() || !error->is_object()) return {};
  const auto message = error->find("message");
  return message != error->end() && message->is_string() ? message->get<std::string>() : std::string{};
}

struct Page {
  LoadReading reading;
  bool load_seen{false};
};

void sort_in(Page& page, const PrometheusSample& sample) {
  LoadReading& reading = page.reading;
  if (sample.name == "llamacpp:requests_processing") {
    reading.running = gated_count(sample.value);
    page.load_seen = true;
  } else if (sample.name == "llamacpp:requests_deferred") {
    reading.waiting = gated_count(sample.value);
    page.load_seen = true;
  } else if (sample.name == "llamacpp:tokens_predicted_total") {
    reading.generated_tokens = gated_count(sample.value);
  } else if (sample.name == "llamacpp:kv_cache_usage_ratio") {  // builds before 2025-05
    reading.kv_usage = gated_usage(sample.value);
  }
}

/// A whole number from 1 to `largest`.
std::optional<std::int64_t> positive(const json& object, const char* key, std::int64_t largest) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return std::nullopt;
  // An unsigned number beyond int64 reads as negative here, and is refused with the rest.
  const auto value = it->get<std::int64_t>();
  if (value < 1 || value > largest) return std::nullopt;
  return value;
}

}  // namespace

ProbeResult<LoadReading> LlamaCpp::read_load(std::string_view body) const {
  // Some builds before 2025-11-28 wrap the page in a JSON string.
  std::string unwrapped;
  if (body.starts_with('"')) {
    const json text = parse_json(body);
    if (text.is_string()) {
      unwrapped = text.get<std::string>();
      body = unwrapped;
    }
  }
  Page page;
  const PrometheusPage summary =
      read_prometheus_text(body, [&page](const PrometheusSample& sample) { sort_in(page, sample); });
  if (page.load_seen) return page.reading;
  if (error_message(body).find("--metrics") != std::string::npos) return ProbeError{kMetricsDisabled};
  if (summary.samples == 0)
    return ProbeError{"the answer to GET /metrics holds no metrics; is this llama-server's port?"};
  return ProbeError{
      "GET /metrics shows neither llamacpp:requests_processing nor llamacpp:requests_deferred; the page was "
      "cut, or "
      "this replica's engine is another one"};
}

std::string LlamaCpp::explain(unsigned status, std::string_view body) const {
  if (status == 501) return kMetricsDisabled;
  if (status == 503 && error_message(body) == "Loading model") return "loading model";
  return {};
}

void LlamaCpp::read_capacity(std::string_view body, LoadReading& into) const {
  const json props = parse_json(body);
  constexpr std::size_t kLongestVersion = 100;
  const auto build = props.find("build_info");
  if (build != props.end() && build->is_string())
    into.version = build->get_ref<const std::string&>().substr(0, kLongestVersion);
  const auto slots = positive(props, "total_slots", std::numeric_limits<std::uint32_t>::max());
  if (!slots) return;
  into.seats = static_cast<std::uint32_t>(*slots);
  const auto settings = props.find("default_generation_settings");
  if (settings == props.end()) return;
  const auto context = positive(*settings, "n_ctx", std::numeric_limits<std::int32_t>::max());
  if (context) into.kv_capacity = Tokens{*slots * *context};
}

}  // namespace fareway
