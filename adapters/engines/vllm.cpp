#include "adapters/engines/vllm.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "adapters/engines/gates.hpp"
#include "adapters/engines/prometheus_text.hpp"

namespace fareway {
namespace {

using Rank = std::string_view;  ///< value of the label `engine`; empty where there is none (V0)
using PerRank = std::map<Rank, std::optional<double>>;

/// All series under one name. The same series written twice: the later one counts.
class Family {
 public:
  void add(const PrometheusSample& sample, std::optional<double> value) {
    const Rank rank = sample.label("engine").value_or(Rank{});
    series_.insert_or_assign(sample.label_text, Series{rank, value});
  }

  bool absent() const { return series_.empty(); }

  /// One value a rank, the largest of its copies; nothing where none of them is known.
  PerRank per_rank() const {
    PerRank ranks;
    for (const auto& [labels, series] : series_) {
      std::optional<double>& value = ranks[series.rank];
      value = std::max(value, series.value);  // "unknown" is less than any number
    }
    return ranks;
  }

 private:
  struct Series {
    Rank rank;
    std::optional<double> value;
  };
  std::unordered_map<std::string_view, Series> series_;  // by label text
};

struct Families {
  Family running;
  Family waiting;
  Family swapped;  // V0: preempted to host memory, so waiting for a turn again
  Family kv_usage;
  Family kv_usage_v0;
  Family generated;
  Family kv_capacity;  // tokens, worked out from labels
  Family awake;
  Family sleeping;
  bool any{false};
};

std::optional<double> as_count(double value) {
  const auto count = gated_count(value);
  if (!count) return std::nullopt;
  return static_cast<double>(*count);
}

/// A label that is a whole number above zero; "None" before the engine has profiled its memory.
std::optional<double> number_of(const PrometheusSample& sample, std::string_view label) {
  const std::string_view text = sample.label(label).value_or("");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return static_cast<double>(value);
}

/// KV cache of one rank in tokens. vLLM says it outright since 2026-06, and only that is right for hybrid
/// models.
std::optional<double> capacity_tokens(const PrometheusSample& sample) {
  if (const auto tokens = number_of(sample, "kv_cache_size_tokens")) return as_count(*tokens);
  const auto blocks = number_of(sample, "num_gpu_blocks");
  const auto block_tokens = number_of(sample, "block_size");
  if (!blocks || !block_tokens) return std::nullopt;
  return as_count(*blocks * *block_tokens);
}

void sort_in(Families& into, const PrometheusSample& sample) {
  static constexpr std::string_view kPrefix = "vllm:";
  if (!sample.name.starts_with(kPrefix)) return;
  into.any = true;
  const std::string_view name = sample.name.substr(kPrefix.size());

  using Member = Family Families::*;
  static constexpr std::array<std::pair<std::string_view, Member>, 4> kCounts{{
      {"num_requests_running", &Families::running},
      {"num_requests_waiting", &Families::waiting},
      {"num_requests_swapped", &Families::swapped},
      {"generation_tokens_total", &Families::generated},
  }};
  for (const auto& [count_name, family] : kCounts) {
    if (name == count_name) return (into.*family).add(sample, as_count(sample.value));
  }
  if (name == "kv_cache_usage_perc") return into.kv_usage.add(sample, gated_usage(sample.value));
  if (name == "gpu_cache_usage_perc") return into.kv_usage_v0.add(sample, gated_usage(sample.value));
  if (name == "cache_config_info") return into.kv_capacity.add(sample, capacity_tokens(sample));
  if (name == "engine_sleep_state") {
    const bool awake = sample.label("sleep_state") == "awake";
    (awake ? into.awake : into.sleeping).add(sample, gated_usage(sample.value));
  }
}

/// Sum over `ranks`; nothing where one of them is unknown, or there are none.
std::optional<double> total(const Family& family, const std::set<Rank>& ranks) {
  const PerRank values = family.per_rank();
  std::optional<double> sum;
  for (const Rank rank : ranks) {
    const auto it = values.find(rank);
    const std::optional<double> value = it == values.end() ? std::nullopt : it->second;
    if (!value) return std::nullopt;
    sum = sum.value_or(0) + *value;
  }
  return sum;
}

std::optional<std::int64_t> total_count(const Family& family, const std::set<Rank>& ranks) {
  const auto sum = total(family, ranks);
  return sum ? gated_count(*sum) : std::nullopt;
}

std::optional<std::int64_t> total_waiting(const Families& page, const std::set<Rank>& ranks) {
  const auto waiting = total_count(page.waiting, ranks);
  if (!waiting || page.swapped.absent()) return waiting;
  const auto swapped = total_count(page.swapped, ranks);
  if (!swapped) return std::nullopt;
  return *waiting + *swapped;
}

std::optional<Tokens> total_capacity(const Family& family, const std::set<Rank>& ranks) {
  const PerRank values = family.per_rank();
  // Some versions label the load with the rank but not the configuration; with one rank there is no doubt.
  const bool only_one = values.size() == 1 && ranks.size() == 1;
  const auto tokens = only_one ? values.begin()->second : total(family, ranks);
  if (!tokens) return std::nullopt;
  const auto count = gated_count(*tokens);
  return count ? std::optional(Tokens{*count}) : std::nullopt;
}

bool any_rank(const Family& family, double value) {
  const PerRank values = family.per_rank();
  return std::any_of(values.begin(), values.end(),
                     [value](const auto& rank) { return rank.second == value; });
}

std::set<Rank> ranks_of(const Families& page) {
  std::set<Rank> ranks;
  for (const Family* family : {&page.running, &page.waiting, &page.kv_usage, &page.kv_usage_v0}) {
    for (const auto& [rank, value] : family->per_rank()) ranks.insert(rank);
  }
  return ranks;
}

LoadReading reading_of(const Families& page) {
  const std::set<Rank> ranks = ranks_of(page);
  LoadReading reading;
  reading.running = total_count(page.running, ranks);
  reading.waiting = total_waiting(page, ranks);
  // Versions between V0 and V1 show the old and the new name together: one fact, read once.
  const auto usage = total(page.kv_usage.absent() ? page.kv_usage_v0 : page.kv_usage, ranks);
  if (usage) reading.kv_usage = *usage / static_cast<double>(ranks.size());
  reading.kv_capacity = total_capacity(page.kv_capacity, ranks);
  reading.generated_tokens = total_count(page.generated, ranks);
  // One sleeping rank is enough: the front end may hand it the next request, and old versions die of that.
  reading.asleep = any_rank(page.awake, 0) || any_rank(page.sleeping, 1);
  return reading;
}

}  // namespace

ProbeResult<LoadReading> Vllm::read_load(std::string_view body) const {
  if (body.empty()) return ProbeError{"GET /metrics answered an empty page"};
  Families page;
  const PrometheusPage summary =
      read_prometheus_text(body, [&page](const PrometheusSample& sample) { sort_in(page, sample); });
  if (page.any) return reading_of(page);
  if (summary.samples == 0)
    return ProbeError{"the answer to GET /metrics holds no metrics; is this vLLM's own port?"};
  return ProbeError{
      "GET /metrics shows no series named vllm:...; start vLLM without --disable-log-stats, or correct this "
      "replica's "
      "engine"};
}

std::string Vllm::explain(unsigned status, std::string_view body) const {
  if (status == 503 && body.find("currently scaling") != std::string_view::npos) {
    return "the engine is scaling its expert-parallel group";
  }
  return {};
}

}  // namespace fareway
