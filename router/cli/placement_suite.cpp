#include "router/cli/placement_suite.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "placement/simulation/dollar_policy.hpp"
#include "placement/simulation/goodput.hpp"
#include "placement/simulation/load_bound.hpp"
#include "placement/simulation/simulation.hpp"

namespace fareway {
namespace {

using nlohmann::json;
using namespace simulation;

struct NamedPolicy {
  std::string name;
  std::function<std::unique_ptr<PlacementPolicy>()> make;
  std::optional<QueueLimits> queue{};
};

NamedPolicy named(std::function<std::unique_ptr<PlacementPolicy>()> make) {
  std::string name{make()->name()};
  return {std::move(name), std::move(make)};
}

NamedPolicy fareway_policy() {
  return named([] { return std::make_unique<DollarPolicy>(); });
}

/// The same, where requests wait that nobody can serve in time.
NamedPolicy fareway_with_queue() {
  NamedPolicy policy = fareway_policy();
  policy.name += ", with its queue";
  policy.queue = QueueLimits{};
  return policy;
}

/// Policies that win somewhere, or nearly.
std::vector<NamedPolicy> strong_policies() {
  return {fareway_policy(), named(shortest_predicted_latency), named(block_cost),
          named(least_kv),  named(weighted_least_connections), named(pinned_classes)};
}

std::vector<NamedPolicy> all_policies() {
  std::vector<NamedPolicy> all{fareway_policy()};
  for (const MakePolicy make : all_baselines()) all.push_back(named(make));
  return all;
}

/// Runs the jobs on some threads; each writes to a place of its own, so their order does not matter.
void run_all(const std::vector<std::function<void()>>& jobs, int threads) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) jobs[i]();
  };
  std::vector<std::jthread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) workers.emplace_back(work);
}

double mean(const json& values) {
  double sum = 0;
  for (const json& value : values) sum += value.get<double>();
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

json class_attainment(const Outcome& outcome) {
  json classes = json::array();
  for (const ClassOutcome& one : outcome.classes) classes.push_back(one.attainment());
  return classes;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// One scene of the suite: what is run on it and where the results go.
class SceneSuite {
 public:
  SceneSuite(const SuiteScene& scene, const SuiteOptions& options) : scene_(scene), options_(options) {
    result_ = {{"name", scene.name},       {"goodput", json::array()},    {"loads", json::array()},
               {"faults", json::array()},  {"terms", json::array()},      {"rules", json::array()},
               {"elastic", json::array()}, {"calibration", json::array()}};
  }

  /// Adds a job for each policy and seed.
  void measure_goodput(std::vector<std::function<void()>>& jobs) {
    for (const NamedPolicy& policy : compared()) {
      json& row = add("goodput", {{"policy", policy.name}});
      for (const char* list : {"rate", "tokens", "hits", "moves", "classes"}) row[list] = seed_list();
      if (!options_.quick) row["rate95"] = seed_list();
      for (int seed = 0; seed < options_.seeds; ++seed)
        jobs.emplace_back([this, &row, policy, seed] { one_goodput(row, policy, seed); });
    }
    jobs.emplace_back([this] {
      const Workload workload = workload_at(own_guess(), 0);
      const ReferenceScene scene = reference_scene(CapacityKind::kReserved);
      result_["bound"] = load_bound(workload.arrivals(), scene, 0.99);
    });
  }

  /// Once goodput is known: everything at shares of Fareway's own rate, and everything that goes wrong.
  void measure_rest(std::vector<std::function<void()>>& jobs) {
    note_own_rate();
    for (const double load : {0.8, 1.0, 1.2, 2.0, 3.0}) {
      for (const NamedPolicy& policy : strong_policies()) measure_load(jobs, policy, load);
      measure_load(jobs, fareway_with_queue(), load);
    }
    for (const NamedPolicy& policy : {fareway_policy(), named(shortest_predicted_latency)}) {
      measure_variant(jobs, "faults", "profiles wrong by 20 %", policy, {.profile_error = 0.2});
      measure_variant(jobs, "faults", "one replica three times slow", policy, {.slow_replica = 0});
    }
    const auto without = [&](const std::string& term, DollarTerms terms) {
      measure_variant(jobs, "terms", "without " + term,
                      named([=] { return std::make_unique<DollarPolicy>("fareway", terms); }), {});
    };
    without("others' misses", {.others_miss = false});
    without("own miss", {.own_miss = false});
    for (const NamedPolicy& policy : strong_policies()) {
      measure_variant(jobs, "rules", "classes by length", policy, {}, ClassRule::kByLength);
      measure_variant(jobs, "rules", "interactive only", policy, {}, ClassRule::kAllInteractive);
    }
  }

  void measure_elastic(std::vector<std::function<void()>>& jobs) {
    note_own_rate();
    using MakeScaler = std::function<std::unique_ptr<Scaler>()>;
    const MakeScaler money = [] { return in_and_out(); };
    const MakeScaler idle = [] { return idle_release(); };
    const MakeScaler concurrency = [] { return concurrency_autoscaler(); };
    for (const MakeScaler& scaler : {money, idle, concurrency})
      for (const NamedPolicy& policy :
           {fareway_policy(), named(shortest_predicted_latency), named(block_cost)})
        for (const double load : {0.2, 0.4, 0.6, 0.8}) measure_scaler(jobs, policy, scaler, load);
  }

  const json& result() const { return result_; }

 private:
  json& add(const char* list, json row) {
    // Rows are handed out by reference while others are added, so the list must not move them.
    auto& rows = result_[list].get_ref<json::array_t&>();
    if (rows.capacity() == 0) rows.reserve(256);
    return rows.emplace_back(std::move(row));
  }

  std::vector<NamedPolicy> compared() const {
    if (options_.kind == SuiteKind::kElastic) return {fareway_policy()};
    return options_.quick ? strong_policies() : all_policies();
  }

  void note_own_rate() {
    own_rate_ = mean(result_["goodput"][0]["rate"]);
    result_["own_rate"] = own_rate_;
  }

  json seed_list() const { return json(json::array_t(static_cast<std::size_t>(options_.seeds))); }

  Workload workload_at(double rate, int seed, ClassRule rule = ClassRule::kBySession) const {
    return Workload(scene_.traces, {.rate = rate,
                                    .seconds = options_.seconds,
                                    .seed = static_cast<std::uint64_t>(seed) + 1,
                                    .class_rule = rule});
  }

  double warm_up() const { return std::min(SimulationOptions{}.warm_up_seconds, options_.seconds / 4); }

  /// A rate of the right order: three of the eight replicas prefilling 20,000 tokens a second each.
  double own_guess() const {
    double tokens = 0;
    double requests = 0;
    for (const Trace& trace : scene_.traces) {
      for (const TraceRequest& request : trace.requests) tokens += static_cast<double>(request.prompt);
      requests += static_cast<double>(trace.requests.size());
    }
    return 60'000 * requests / tokens;
  }

  Goodput search(const NamedPolicy& policy, int seed, double target, double first, const SceneFaults& faults,
                 ClassRule rule) const {
    return find_goodput({.target = target, .first_rate = first}, [&](double rate) {
      const auto fresh = policy.make();
      return simulate(workload_at(rate, seed, rule), *fresh, reference_scene(CapacityKind::kReserved, faults),
                      {.warm_up_seconds = warm_up()});
    });
  }

  void one_goodput(json& row, const NamedPolicy& policy, int seed) const {
    const auto at = static_cast<std::size_t>(seed);
    const Goodput found = search(policy, seed, 0.99, own_guess(), {}, ClassRule::kBySession);
    const Outcome& outcome = found.best.outcome;
    row["rate"][at] = found.best.rate;
    row["tokens"][at] =
        outcome.seconds > 0 ? static_cast<double>(outcome.all().tokens_met) / outcome.seconds : 0;
    row["hits"][at] = share(outcome.cached_tokens, outcome.prompt_tokens);
    row["moves"][at] = share(outcome.moves, outcome.later_turns);
    row["classes"][at] = class_attainment(outcome);
    std::vector<LoadPoint> tried = found.points;
    if (!options_.quick) {
      const double from = found.best.rate > 0 ? found.best.rate * 1.2 : own_guess();
      const Goodput looser = search(policy, seed, 0.95, from, {}, ClassRule::kBySession);
      row["rate95"][at] = looser.best.rate;
      tried.insert(tried.end(), looser.points.begin(), looser.points.end());
    }
    if (seed != 0) return;
    json points = json::array();
    for (const LoadPoint& point : tried)
      points.push_back({{"rate", point.rate}, {"attainment", point.outcome.attainment()}});
    std::ranges::sort(points.get_ref<json::array_t&>(), {},
                      [](const json& point) { return point["rate"].get<double>(); });
    row["points"] = std::move(points);
  }

  void measure_variant(std::vector<std::function<void()>>& jobs, const char* list, const std::string& what,
                       const NamedPolicy& policy, const SceneFaults& faults,
                       ClassRule rule = ClassRule::kBySession) {
    json& row = add(list, {{"policy", policy.name}, {"case", what}, {"rate", seed_list()}});
    for (int seed = 0; seed < options_.seeds; ++seed) {
      jobs.emplace_back([=, this, &row] {
        SceneFaults with = faults;
        with.profile_seed = static_cast<std::uint64_t>(seed) + 1;
        // Another replica each seed, so that no pool is the one that is always slow.
        if (faults.slow_replica >= 0) with.slow_replica = (3 * seed) % 8;
        const Goodput found = search(policy, seed, 0.99, own_rate_, with, rule);
        row["rate"][static_cast<std::size_t>(seed)] = found.best.rate;
      });
    }
  }

  void measure_load(std::vector<std::function<void()>>& jobs, const NamedPolicy& policy, double load) {
    json& row = add("loads", {{"policy", policy.name}, {"load", load}});
    for (const char* list : {"attainment", "all_in", "classes", "met"}) row[list] = seed_list();
    const bool calibrates = load == 1.0 && policy.name == fareway_policy().name;
    for (int seed = 0; seed < options_.seeds; ++seed) {
      jobs.emplace_back([=, this, &row] {
        const auto at = static_cast<std::size_t>(seed);
        const auto fresh = policy.make();
        const Outcome outcome =
            simulate(workload_at(load * own_rate_, seed), *fresh, reference_scene(CapacityKind::kReserved),
                     {.queue = policy.queue, .warm_up_seconds = warm_up()});
        row["attainment"][at] = outcome.attainment();
        row["met"][at] = static_cast<double>(outcome.all().met) / outcome.seconds;
        row["classes"][at] = class_attainment(outcome);
        row["all_in"][at] = (outcome.gpu + outcome.missed).value /
                            static_cast<double>(std::max<std::int64_t>(outcome.all().requests, 1));
        if (calibrates && seed == 0) note_calibration(outcome);
      });
    }
  }

  void note_calibration(const Outcome& outcome) {
    for (const CalibrationBin& bin : outcome.calibration) {
      if (bin.requests == 0) continue;
      result_["calibration"].push_back({{"predicted", bin.predicted / static_cast<double>(bin.requests)},
                                        {"requests", bin.requests},
                                        {"missed", bin.missed}});
    }
  }

  void measure_scaler(std::vector<std::function<void()>>& jobs, const NamedPolicy& policy,
                      const std::function<std::unique_ptr<Scaler>()>& scaler, double load) {
    json& row =
        add("elastic", {{"policy", policy.name}, {"scaler", std::string(scaler()->name())}, {"load", load}});
    for (const char* list : {"attainment", "usd_per_hour"}) row[list] = seed_list();
    for (int seed = 0; seed < options_.seeds; ++seed)
      jobs.emplace_back([=, this, &row] { one_elastic(row, policy, *scaler(), load, seed); });
  }

  void one_elastic(json& row, const NamedPolicy& policy, Scaler& scaler, double load, int seed) const {
    const Workload workload(scene_.traces, {.rate = load * own_rate_,
                                            .seconds = options_.elastic_seconds,
                                            .seed = static_cast<std::uint64_t>(seed) + 1,
                                            .class_rule = ClassRule::kBySession});
    const auto fresh = policy.make();
    // The first quarter does not count: there a fleet that begins whole shrinks to its size.
    const Outcome outcome = simulate(workload, *fresh, reference_scene(CapacityKind::kReserved),
                                     {.scaler = &scaler, .warm_up_seconds = options_.elastic_seconds / 4});
    const auto at = static_cast<std::size_t>(seed);
    row["attainment"][at] = outcome.attainment();
    row["usd_per_hour"][at] = outcome.gpu.value / outcome.seconds * kSecondsPerHour;
  }

  const SuiteScene& scene_;
  const SuiteOptions& options_;
  double own_rate_{0};
  json result_;
};

}  // namespace

json run_placement_suite(const SuiteOptions& options) {
  std::vector<SceneSuite> scenes;
  scenes.reserve(options.scenes.size());
  for (const SuiteScene& scene : options.scenes) scenes.emplace_back(scene, options);

  std::vector<std::function<void()>> jobs;
  for (SceneSuite& scene : scenes) scene.measure_goodput(jobs);
  run_all(jobs, options.jobs);
  jobs.clear();
  for (SceneSuite& scene : scenes) {
    if (options.kind == SuiteKind::kElastic) {
      scene.measure_elastic(jobs);
    } else if (!options.quick) {
      scene.measure_rest(jobs);
    }
  }
  run_all(jobs, options.jobs);
  const double seconds = options.kind == SuiteKind::kElastic ? options.elastic_seconds : options.seconds;
  json result = {{"seeds", options.seeds}, {"seconds", seconds}, {"scenes", json::array()}};
  for (const SceneSuite& scene : scenes) result["scenes"].push_back(scene.result());
  return result;
}

}  // namespace fareway
