#include <string>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "adapters/emulator/endpoints.hpp"

namespace fareway::emulator {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// As vLLM's default. Prefixes are shared by blocks of `kBlockTokens`, which is a multiple of it.
constexpr std::int64_t kReportedBlockTokens = 16;

/// Collects families that carry vLLM's two labels.
class Exposition {
 public:
  explicit Exposition(const std::string& model) : labels_{{"engine", "0"}, {"model_name", model}} {}

  void gauge(const char* name, const char* help, double value) {
    ClientMetric metric;
    metric.label = labels_;
    metric.gauge.value = value;
    add(name, help, MetricType::Gauge, {std::move(metric)});
  }

  void counter(const char* name, const char* help, std::int64_t value) {
    add(name, help, MetricType::Counter, {count(value)});
  }

  void finished(const Emulation::Finished& finished) {
    std::vector<ClientMetric> metrics;
    for (const auto& [reason, value] :
         {std::pair{"stop", finished.stop}, std::pair{"length", finished.length},
          std::pair{"abort", finished.abort}}) {
      metrics.push_back(count(value));
      metrics.back().label.push_back({"finished_reason", reason});
    }
    add("vllm:request_success_total", "Count of successfully processed requests.", MetricType::Counter,
        std::move(metrics));
  }

  void histogram(const char* name, const char* help, const prometheus::Histogram& histogram) {
    ClientMetric metric = histogram.Collect();
    metric.label = labels_;
    add(name, help, MetricType::Histogram, {std::move(metric)});
  }

  void cache_config(std::int64_t blocks) {
    ClientMetric metric;
    metric.label = {{"block_size", std::to_string(kReportedBlockTokens)},
                    {"enable_prefix_caching", "True"},
                    {"engine", "0"},
                    {"num_gpu_blocks", std::to_string(blocks)}};
    metric.gauge.value = 1;
    add("vllm:cache_config_info", "Information of the LLMEngine CacheConfig", MetricType::Gauge,
        {std::move(metric)});
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  ClientMetric count(std::int64_t value) const {
    ClientMetric metric;
    metric.label = labels_;
    metric.counter.value = static_cast<double>(value);
    return metric;
  }

  void add(const char* name, const char* help, MetricType type, std::vector<ClientMetric> metrics) {
    families_.push_back({.name = name, .help = help, .type = type, .metric = std::move(metrics)});
  }

  std::vector<ClientMetric::Label> labels_;
  std::vector<MetricFamily> families_;
};

}  // namespace

std::string metrics_text(const Emulation& emulation) {
  const EngineLoop& engine = emulation.engine();
  const BatchLoad load = engine.batch().load();
  const double usage = static_cast<double>(load.kv_used.value) / static_cast<double>(load.kv_pool.value);

  Exposition text(emulation.replica().model);
  text.gauge("vllm:num_requests_running", "Number of requests in model execution batches.",
             static_cast<double>(load.running));
  text.gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.",
             static_cast<double>(load.waiting));
  text.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", usage);
  text.cache_config(load.kv_pool.value / kReportedBlockTokens);
  text.counter("vllm:prefix_cache_queries_total",
               "Prefix cache queries, in terms of number of queried tokens.", load.prefix_queries.value);
  text.counter("vllm:prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.",
               load.prefix_hits.value);
  text.counter("vllm:num_preemptions_total", "Cumulative number of preemption from the engine.",
               load.preemptions);
  text.counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", load.prompt_tokens.value);
  text.counter("vllm:generation_tokens_total", "Number of generation tokens processed.",
               load.generated_tokens.value);
  text.finished(emulation.finished());
  text.histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.",
                 engine.time_to_first_token());
  text.histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.",
                 engine.inter_token_latency());
  return text.text();
}

}  // namespace fareway::emulator
