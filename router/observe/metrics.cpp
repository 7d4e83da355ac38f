#include "router/observe/metrics.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "router/observe/families.hpp"
#include "router/observe/learning_metrics.hpp"
#include "router/observe/queue_metrics.hpp"
#include "router/observe/scaling_metrics.hpp"
#include "router/observe/series.hpp"

namespace fareway {

namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

// Roughly geometric, too.
const Histogram::BucketBoundaries kTpotSeconds{0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06,
                                               0.08,   0.1,   0.15, 0.25,  0.5,  1,    2,    4};
const Histogram::BucketBoundaries kDurationSeconds{0.05, 0.1, 0.25, 0.5, 1,   2.5, 5,    10,   20,
                                                   40,   60,  120,  300, 600, 900, 1200, 1800, 3600};
const Histogram::BucketBoundaries kDecisionSeconds{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5,
                                                   1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 1e-1};

constexpr std::array kOutcomes{Outcome::kComplete, Outcome::kIncomplete, Outcome::kClientClosed,
                               Outcome::kEngineError, Outcome::kFailed};
constexpr const char* kNoPool = "none";

/// What the requests of one model and class measured on one pool.
struct Measures {
  Histogram* ttft;
  Histogram* tpot;
  Histogram* duration;
  Counter* uncached_prompt;
  Counter* cached_prompt;
  Counter* completion;
  Counter* cost;
  Counter* price;
};

struct Cell {
  std::array<Counter*, kOutcomes.size()> ended{};
  std::optional<Measures> measures;  // nothing where no pool was involved
};

struct ReplicaSeries {
  Gauge* in_rotation;
  Gauge* in_flight;
  OptionalGauge running;
  OptionalGauge waiting;
  OptionalGauge kv_usage;
  Gauge* ttft_error;
  Gauge* tpot_error;
  Gauge* rate;
  FollowedDollars charged;
  FollowedDollars idle;
  Gauge* unsettled;
};

struct ModelSeries {
  Gauge* serving;
  Counter* unpriced;
  Counter* uncounted;
};

/// [model][pool]: whether the pool has a replica of the model.
std::vector<std::vector<bool>> pools_by_model(const Fleet& fleet) {
  std::vector<std::vector<bool>> runs(fleet.models.size(), std::vector<bool>(fleet.pools.size(), false));
  for (const Replica& replica : fleet.replicas) {
    runs[fleet[replica.deployment].model.value][replica.pool.value] = true;
  }
  return runs;
}

/// True where the client got at least part of an answer, which should therefore have been counted and priced.
bool delivered(Outcome outcome) {
  return outcome == Outcome::kComplete || outcome == Outcome::kIncomplete ||
         outcome == Outcome::kClientClosed;
}

}  // namespace

struct Metrics::Families {
  Families(prometheus::Registry& registry, const Fleet& fleet);

  Cell& cell(ModelIndex model, ClassIndex service_class, std::optional<PoolIndex> pool);
  void charge(const LedgerRow& row, ModelIndex model, ClassIndex service_class,
              std::optional<PoolIndex> last);

  std::size_t classes;
  std::size_t pools;
  std::vector<std::uint32_t> cell_of;  // by (model, class, pool or none), into `cells`
  std::vector<Cell> cells;
  std::unordered_map<std::string, PoolIndex> pool_named;
  std::vector<ModelSeries> models;
  std::vector<Gauge*> pool_price;
  std::vector<ReplicaSeries> replicas;
  Counter* started;
  Gauge* connections;
  Counter* handshakes_failed;
  Gauge* backlog;
  Histogram* decision;
  std::unique_ptr<Reasons> refused;
  std::unique_ptr<Reasons> retries;
  QueueMetrics queue;
  ScalingMetrics scaling;

 private:
  void add_requests(prometheus::Registry& registry, const Fleet& fleet);
  void add_models(prometheus::Registry& registry, const Fleet& fleet);
  void add_replicas(prometheus::Registry& registry, const Fleet& fleet);
  void add_router(prometheus::Registry& registry);
  std::size_t slot(ModelIndex model, ClassIndex service_class, std::size_t pool_or_none) const {
    return (model.value * classes + service_class.value) * (pools + 1) + pool_or_none;
  }
};

Metrics::Families::Families(prometheus::Registry& registry, const Fleet& fleet)
    : classes(fleet.classes.size()),
      pools(fleet.pools.size()),
      queue(registry, fleet),
      scaling(registry, fleet) {
  for (std::uint32_t i = 0; i < pools; ++i) pool_named.emplace(fleet.pools[i].name, PoolIndex{i});
  add_requests(registry, fleet);
  add_models(registry, fleet);
  add_replicas(registry, fleet);
  add_router(registry);
}

// Series exist only for pools that run the model: their number follows the replicas, not models × pools.
void Metrics::Families::add_requests(prometheus::Registry& registry, const Fleet& fleet) {
  auto& ended =
      counters(registry, "fareway_gateway_requests_total",
               "Admitted requests that ended, by how; pool of the last attempt, \"none\" before any.");
  auto& ttft = histograms(registry, "fareway_gateway_ttft_seconds",
                          "Time from arrival to the first token relayed; streams only.");
  auto& tpot = histograms(registry, "fareway_gateway_tpot_seconds",
                          "Mean time per output token after the first; whole streams of known length only.");
  auto& duration = histograms(registry, "fareway_gateway_request_duration_seconds",
                              "Time from arrival to the last byte relayed; whole answers only.");
  auto& tokens =
      counters(registry, "fareway_gateway_tokens_total",
               "Tokens of answered requests, where counts are known; cached and uncached prompt add up.");
  auto& cost = counters(registry, "fareway_gateway_cost_usd_total",
                        "What the meter charged requests, by the pool of each attempt.");
  auto& price = counters(registry, "fareway_gateway_price_usd_total", "What tenants pay by the list prices.");

  const auto add = [&](ModelIndex model, ClassIndex service_class, std::size_t pool) {
    const bool none = pool == pools;
    const Labels labels{{"model", fleet[model].name},
                        {"class", fleet[service_class].name},
                        {"pool", none ? kNoPool : fleet.pools[pool].name}};
    const auto with = [&](const char* name, std::string_view value) {
      Labels more = labels;
      more.emplace(name, value);
      return more;
    };
    Cell cell;
    for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
      cell.ended[i] = &ended.Add(with("outcome", to_string(kOutcomes[i])));
    }
    if (!none) {
      cell.measures = Measures{&ttft.Add(labels, kTtftSeconds),
                               &tpot.Add(labels, kTpotSeconds),
                               &duration.Add(labels, kDurationSeconds),
                               &tokens.Add(with("kind", "uncached_prompt")),
                               &tokens.Add(with("kind", "cached_prompt")),
                               &tokens.Add(with("kind", "completion")),
                               &cost.Add(labels),
                               &price.Add(labels)};
    }
    cell_of[slot(model, service_class, pool)] = static_cast<std::uint32_t>(cells.size());
    cells.push_back(cell);
  };

  const auto runs = pools_by_model(fleet);
  cell_of.resize(fleet.models.size() * classes * (pools + 1));
  for (std::uint32_t model = 0; model < fleet.models.size(); ++model) {
    for (std::uint32_t c = 0; c < classes; ++c) {
      add(ModelIndex{model}, ClassIndex{c}, pools);
      for (std::size_t pool = 0; pool < pools; ++pool) {
        if (runs[model][pool]) {
          add(ModelIndex{model}, ClassIndex{c}, pool);
        } else {
          cell_of[slot(ModelIndex{model}, ClassIndex{c}, pool)] =
              cell_of[slot(ModelIndex{model}, ClassIndex{c}, pools)];
        }
      }
    }
  }
}

void Metrics::Families::add_models(prometheus::Registry& registry, const Fleet& fleet) {
  auto& serving =
      gauges(registry, "fareway_model_serving_replicas", "Replicas of the model that are in rotation.");
  auto& unpriced = counters(registry, "fareway_gateway_unpriced_requests_total",
                            "Answers relayed without a known price: no list price, or no token counts.");
  auto& uncounted = counters(registry, "fareway_gateway_uncounted_requests_total",
                             "Answers relayed without known token counts.");
  for (const Model& model : fleet.models) {
    const Labels labels{{"model", model.name}};
    models.push_back({&serving.Add(labels), &unpriced.Add(labels), &uncounted.Add(labels)});
  }
  auto& price =
      gauges(registry, "fareway_pool_price_usd_per_device_hour", "Price of one device that holds now.");
  for (const Pool& pool : fleet.pools) pool_price.push_back(&price.Add({{"pool", pool.name}}));
}

void Metrics::Families::add_replicas(prometheus::Registry& registry, const Fleet& fleet) {
  auto& in_rotation =
      gauges(registry, "fareway_replica_in_rotation", "1 while the replica may be chosen, else 0.");
  auto& in_flight =
      gauges(registry, "fareway_replica_in_flight_requests", "Requests of this router on the replica.");
  auto& running =
      gauges(registry, "fareway_replica_running_requests",
             "Sequences running, all clients together, as the engine reports; absent while unknown.");
  auto& waiting =
      gauges(registry, "fareway_replica_waiting_requests",
             "Requests waiting, all clients together, as the engine reports; absent while unknown.");
  auto& kv_usage = gauges(registry, "fareway_replica_kv_usage_ratio",
                          "KV cache in use, 0 to 1, as the engine reports; absent while unknown.");
  auto& error = gauges(registry, "fareway_replica_prediction_error_ratio",
                       "Root mean square of recent log errors of predictions; 0.1 is about 10 %.");
  auto& rate = gauges(registry, "fareway_replica_rate_usd_per_hour", "What the replica costs an hour now.");
  auto& charged = counters(registry, "fareway_replica_charged_usd_total",
                           "Dollars of the replica's time that ended requests were charged.");
  auto& idle = counters(registry, "fareway_replica_idle_usd_total",
                        "Dollars of the replica's time in which none of this router's requests was active.");
  auto& unsettled = gauges(registry, "fareway_replica_unsettled_usd",
                           "Dollars accrued by requests that are still running.");
  for (const Replica& replica : fleet.replicas) {
    const Labels labels{{"pool", fleet[replica.pool].name}, {"replica", replica.name}};
    const auto of = [&](const char* what) {
      Labels more = labels;
      more.emplace("of", what);
      return more;
    };
    replicas.push_back({&in_rotation.Add(labels), &in_flight.Add(labels), OptionalGauge(running, labels),
                        OptionalGauge(waiting, labels), OptionalGauge(kv_usage, labels),
                        &error.Add(of("ttft")), &error.Add(of("tpot")), &rate.Add(labels),
                        FollowedDollars{&charged.Add(labels)}, FollowedDollars{&idle.Add(labels)},
                        &unsettled.Add(labels)});
  }
}

void Metrics::Families::add_router(prometheus::Registry& registry) {
  started = &counters(registry, "fareway_gateway_requests_started_total",
                      "Requests admitted: a replica was chosen, or they wait for one.")
                 .Add({});
  connections =
      &gauges(registry, "fareway_gateway_open_connections", "Client connections that are open.").Add({});
  handshakes_failed = &counters(registry, "fareway_gateway_tls_handshakes_failed_total",
                                "Client connections whose TLS handshake came to nothing.")
                           .Add({});
  backlog =
      &gauges(registry, "fareway_ledger_backlog_rows", "Ledger rows accepted and not yet durable.").Add({});
  decision = &histograms(registry, "fareway_placement_decision_seconds", "Time to choose a replica.")
                  .Add({}, kDecisionSeconds);
  refused = std::make_unique<Reasons>(
      counters(registry, "fareway_gateway_refused_requests_total",
               "Requests refused before a replica was chosen."),
      std::initializer_list<const char*>{"unauthorized", "bad_request", "bad_http", "unknown_path",
                                         "wrong_method", "too_large", "request_timeout", "model_not_found",
                                         "not_permitted", "context", "no_replica", "ledger", "shutting_down",
                                         "queue_full", "queue_bytes", "too_late"});
  retries =
      std::make_unique<Reasons>(counters(registry, "fareway_gateway_retries_total",
                                         "Attempts repeated on another replica, by what failed."),
                                std::initializer_list<const char*>{"unreachable", "refused", "broke_off"});
}

Cell& Metrics::Families::cell(ModelIndex model, ClassIndex service_class, std::optional<PoolIndex> pool) {
  return cells[cell_of[slot(model, service_class, pool ? pool->value : pools)]];
}

// Each attempt's cost belongs to the pool it ran on; only the last pool comes as an index.
void Metrics::Families::charge(const LedgerRow& row, ModelIndex model, ClassIndex service_class,
                               std::optional<PoolIndex> last) {
  for (std::size_t i = 0; i < row.charges.size(); ++i) {
    auto pool = last;
    if (i + 1 < row.charges.size()) {
      const auto named = pool_named.find(row.charges[i].pool);
      if (named != pool_named.end()) pool = named->second;
    }
    const auto& measures = cell(model, service_class, pool).measures;
    if (measures) measures->cost->Increment(to_usd(row.charges[i].cost).value);
  }
}

Metrics::Metrics(prometheus::Registry& registry, const Fleet& fleet)
    : families_(std::make_unique<Families>(registry, fleet)),
      learning_(std::make_unique<LearningMetrics>(registry, fleet)) {}
Metrics::~Metrics() = default;

void Metrics::request_started() {
  families_->started->Increment();
}

namespace {

void observe_times(const Measures& measures, const LedgerRow& row) {
  if (row.ttft) measures.ttft->Observe(row.ttft->count());
  if (row.outcome != Outcome::kComplete) return;
  measures.duration->Observe(row.duration.count());
  if (!row.ttft || !row.usage || row.usage->completion.value < 2) return;
  const auto gaps = static_cast<double>(row.usage->completion.value - 1);
  measures.tpot->Observe((row.duration - *row.ttft).count() / gaps);
}

// Engines have been seen to report more cached than prompt tokens; the bill takes that as all of the prompt,
// as here.
void count_tokens(const Measures& measures, const TokenUsage& usage) {
  const Tokens cached = std::min(usage.cached, usage.prompt);
  measures.uncached_prompt->Increment(static_cast<double>((usage.prompt - cached).value));
  measures.cached_prompt->Increment(static_cast<double>(cached.value));
  measures.completion->Increment(static_cast<double>(usage.completion.value));
}

}  // namespace

void Metrics::request_ended(const LedgerRow& row, ModelIndex model, ClassIndex service_class,
                            std::optional<PoolIndex> pool) {
  families_->charge(row, model, service_class, pool);
  const Cell& cell = families_->cell(model, service_class, pool);
  cell.ended[static_cast<std::size_t>(row.outcome)]->Increment();
  if (delivered(row.outcome)) {
    if (!row.price) families_->models[model.value].unpriced->Increment();
    if (!row.usage) families_->models[model.value].uncounted->Increment();
  }
  if (!cell.measures) return;
  observe_times(*cell.measures, row);
  if (row.usage) count_tokens(*cell.measures, *row.usage);
  if (row.price) cell.measures->price->Increment(to_usd(*row.price).value);
}

void Metrics::decision_turned_out(const DecisionRecord& record, const Fleet& fleet) {
  learning_->request_ended(record, fleet);
}

void Metrics::request_refused(std::string_view reason_literal) {
  families_->refused->increment(reason_literal);
}
void Metrics::waited(ClassIndex service_class, Seconds time, std::string_view how_literal) {
  families_->queue.waited(service_class, time, how_literal);
}
void Metrics::queue_depth(ModelIndex model, ClassIndex service_class, const AdmissionQueue::Depth& depth) {
  families_->queue.depth(model, service_class, depth);
}
void Metrics::retried(std::string_view reason_literal) {
  families_->retries->increment(reason_literal);
}
void Metrics::client_connections(std::size_t open) {
  families_->connections->Set(static_cast<double>(open));
}
void Metrics::tls_handshake_failed() {
  families_->handshakes_failed->Increment();
}
void Metrics::decision_took(Seconds time) {
  families_->decision->Observe(time.count());
}
void Metrics::scaling_advised(const ScalingAdvisor& advisor, const Fleet& fleet) {
  families_->scaling.advised(advisor, fleet);
}
void Metrics::ledger_backlog(std::size_t rows) {
  families_->backlog->Set(static_cast<double>(rows));
}

void Metrics::fleet_changed(const LiveFleet& live) {
  learning_->fleet_changed(live);
  const Fleet& fleet = live.fleet();
  std::vector<std::size_t> serving(fleet.models.size(), 0);
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const Replica& replica = fleet.replicas[i];
    const Meter& meter = live.meter(ReplicaIndex{i});
    ReplicaSeries& series = families_->replicas[i];
    const bool in_rotation = replica.health.serving() && !replica.draining;
    if (in_rotation) ++serving[fleet[replica.deployment].model.value];
    const LoadReading reading = replica.reading.value_or(LoadReading{});
    series.in_rotation->Set(in_rotation ? 1 : 0);
    series.in_flight->Set(static_cast<double>(replica.in_flight.size()));
    series.running.set(reading.running);
    series.waiting.set(reading.waiting);
    series.kv_usage.set(reading.kv_usage);
    series.ttft_error->Set(replica.errors.widest().ttft);
    series.tpot_error->Set(replica.errors.widest().tpot);
    series.rate->Set(to_usd_per_hour(meter.rate()).value);
    series.charged.follow(meter.charged());
    series.idle.follow(meter.idle());
    series.unsettled->Set(to_usd(meter.unsettled()).value);
  }
  for (std::size_t i = 0; i < serving.size(); ++i)
    families_->models[i].serving->Set(static_cast<double>(serving[i]));
  for (std::size_t i = 0; i < fleet.pools.size(); ++i) {
    families_->pool_price[i]->Set(to_usd_per_hour(fleet.pools[i].per_device_hour).value);
  }
}

}  // namespace fareway
