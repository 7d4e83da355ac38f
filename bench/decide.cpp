// What a placement costs: nanoseconds per choose() over fleets of 8, 64 and 512 replicas with ten requests in
// flight on each, next to a shortest-queue loop over the very same fleet, in alternating batches.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "placement/decision.hpp"
#include "tests/support/fleet_builder.hpp"

namespace fareway {
namespace {

using testing::FleetBuilder;
using testing::kNow;

constexpr int kFlights = 10;
constexpr std::size_t kShapes = 256;

/// Prompts of 200 to 4,000 tokens, answers of 50 to 800; every shape has its own content.
std::vector<RequestShape> some_requests(std::mt19937_64& chance) {
  std::uniform_int_distribution<std::int64_t> prompts(200, 4000);
  std::uniform_int_distribution<std::int64_t> outputs(50, 800);
  std::vector<RequestShape> shapes;
  for (std::size_t i = 0; i < kShapes; ++i) {
    RequestShape shape = testing::request(prompts(chance), outputs(chance));
    for (std::int64_t block = 0; block < shape.prompt.value / kBlockTokens; ++block) {
      shape.prefix.push_back(chance());
    }
    shape.tie_break = chance();
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// Unlike prices, speeds and progress; each replica holds the prefixes of a few of the requests.
Fleet a_fleet(std::size_t replicas, const std::vector<RequestShape>& shapes, std::mt19937_64& chance) {
  std::uniform_real_distribution<double> unit(0, 1);
  FleetBuilder builder;
  for (std::size_t i = 0; i < replicas; ++i) {
    const ReplicaIndex replica = builder.add({.name = "r" + std::to_string(i),
                                              .usd_per_hour = 1.5 + 5 * unit(chance),
                                              .step_seconds = 0.008 + 0.010 * unit(chance),
                                              .step_seconds_per_sequence = 0.0001,
                                              .prompt_token_seconds = 0.00002 + 0.0001 * unit(chance)});
    for (int flight = 0; flight < kFlights; ++flight) {
      builder.decoding(replica, 1, Tokens{static_cast<std::int64_t>(200 * unit(chance))}, 400);
    }
    for (int held = 0; held < 4; ++held) {
      builder.fleet().prefixes.hold(replica, shapes[chance() % shapes.size()], Tokens{100});
    }
  }
  return std::move(builder.fleet());
}

/// The public policy a decision is compared with: the serving replica of the model with the fewest requests.
std::optional<ReplicaIndex> shortest_queue(const RequestShape& shape, const Fleet& fleet) {
  std::optional<ReplicaIndex> shortest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const Replica& replica = fleet.replicas[i];
    if (fleet[replica.deployment].model != shape.model || !replica.health.serving()) continue;
    if (replica.in_flight.size() >= fewest) continue;
    fewest = replica.in_flight.size();
    shortest = ReplicaIndex{i};
  }
  return shortest;
}

/// Processor time of this thread: what others do on a busy machine meanwhile does not count.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

/// One way of choosing, called for one shape after the other. `proof` takes in every result, so that no call
/// can be left out.
template <class Choose>
class Contender {
 public:
  Contender(const std::vector<RequestShape>& shapes, Choose choose)
      : shapes_(shapes), choose_(std::move(choose)) {}

  /// As many calls as take about `batch`.
  void calibrate(std::chrono::nanoseconds batch) {
    while (nanoseconds_per_call() * static_cast<double>(calls_) < static_cast<double>(batch.count()))
      calls_ *= 2;
  }

  double nanoseconds_per_call() {
    const std::chrono::nanoseconds began = processor_time();
    for (std::size_t i = 0; i < calls_; ++i) {
      proof_ += choose_(shapes_[i % shapes_.size()]).value_or(ReplicaIndex{}).value;
    }
    const std::chrono::duration<double, std::nano> used = processor_time() - began;
    return used.count() / static_cast<double>(calls_);
  }

  std::uint64_t proof() const { return proof_; }

 private:
  const std::vector<RequestShape>& shapes_;
  Choose choose_;
  std::size_t calls_{1};
  std::uint64_t proof_{0};
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

nlohmann::json measure(std::size_t replicas, int rounds, std::chrono::nanoseconds batch) {
  std::mt19937_64 chance{replicas};
  const std::vector<RequestShape> shapes = some_requests(chance);
  const Fleet fleet = a_fleet(replicas, shapes, chance);
  const CandidateTable table{fleet, kNow};
  DecisionScratch scratch;
  Contender decision(shapes, [&](const RequestShape& shape) {
    const Choice choice = choose(shape, fleet, table, {}, kNow, scratch);
    return choice.chosen ? std::optional{choice.chosen->replica} : std::nullopt;
  });
  Contender baseline(shapes, [&](const RequestShape& shape) { return shortest_queue(shape, fleet); });
  decision.calibrate(batch);
  baseline.calibrate(batch);
  std::vector<double> decision_times;
  std::vector<double> baseline_times;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    decision_times.push_back(decision.nanoseconds_per_call());
    baseline_times.push_back(baseline.nanoseconds_per_call());
    ratios.push_back(decision_times.back() / baseline_times.back());
  }
  return {{"candidates", replicas},
          {"flights_each", kFlights},
          {"decide_ns", median(decision_times)},
          {"shortest_queue_ns", median(baseline_times)},
          {"ratio", median(ratios)},
          {"proof", decision.proof() + baseline.proof()}};
}

void print_table(const nlohmann::json& results) {
  std::cout << "| candidates | decide() ns | per candidate | shortest queue ns | ratio |\n"
               "| ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& row : results) {
    const double decide_ns = row["decide_ns"];
    std::cout << "| " << row["candidates"] << " | " << static_cast<std::int64_t>(decide_ns) << " | "
              << static_cast<std::int64_t>(decide_ns / row["candidates"].get<double>()) << " | "
              << static_cast<std::int64_t>(row["shortest_queue_ns"]) << " | "
              << static_cast<std::int64_t>(row["ratio"]) << " |\n";
  }
}

}  // namespace
}  // namespace fareway

int main(int argc, char** argv) {
  CLI::App app{"Time of a placement decision"};
  std::vector<std::size_t> sizes{8, 64, 512};
  int rounds = 9;
  std::int64_t batch_ms = 20;
  bool json = false;
  app.add_option("--candidates", sizes, "replicas in the fleet")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  app.add_option("--batch-ms", batch_ms, "milliseconds of processor time of each batch, at least")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", json, "print JSON rather than a table");
  CLI11_PARSE(app, argc, argv);
  nlohmann::json results = nlohmann::json::array();
  for (const std::size_t size : sizes) {
    results.push_back(fareway::measure(size, rounds, std::chrono::milliseconds{batch_ms}));
  }
  if (json) {
    std::cout << results.dump() << '\n';
  } else {
    fareway::print_table(results);
  }
}
