// Load for benchmarks: closed-loop clients on one thread that check every byte of every answer.
//
//   bench_load --port 8080 --connections 64 --warm-up 0.5 --seconds 2
//   bench_load --port 8080 --connections 1000 --events 100 --interval-us 20000 --warm-up 2 --seconds 2
//   bench_load --port 8080 --connections 1000 --hold --watch PID       memory at 1,000 open streams
//
// Prints one JSON object. `--watch` names the processes of what is measured, `--helper` those of the engines:
// what is left of both cores' time is what others used meanwhile.

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/load_client.hpp"
#include "bench/process_cost.hpp"

namespace fareway::bench {
namespace {

using RealSeconds = std::chrono::duration<double>;
using Json = nlohmann::json;

struct Settings {
  LoadOptions load;
  double warm_up_seconds{0.5};
  double seconds{2};
  double settle_seconds{1};
  double give_up_seconds{30};
  bool hold{false};
  std::vector<pid_t> watched;
  std::vector<pid_t> helpers;
  std::size_t watched_core{0};
  std::size_t load_core{1};
};

std::chrono::nanoseconds to_nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(RealSeconds{seconds});
}

Json or_null(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Processor time by whom it was used, and what both cores did in all.
struct Cost {
  RealSeconds watched;
  RealSeconds helpers;
  RealSeconds load;
  std::vector<RealSeconds> idle;

  static Cost taken_now(const Settings& settings) {
    const std::vector<pid_t> self{::getpid()};
    return {.watched = processor_time(settings.watched),
            .helpers = processor_time(settings.helpers),
            .load = processor_time(self),
            .idle = idle_times()};
  }
};

/// Cores that nobody of ours used, of the two. Idle time comes in hundredths of a second, so a small negative
/// value means nothing.
double foreign_cores(const Cost& before, const Cost& after, const Settings& settings, RealSeconds wall) {
  const auto busy = [&](std::size_t core) {
    if (core >= after.idle.size()) return RealSeconds{0};
    return wall - (after.idle[core] - before.idle[core]);
  };
  const RealSeconds all =
      busy(settings.watched_core) +
      (settings.load_core == settings.watched_core ? RealSeconds{0} : busy(settings.load_core));
  const RealSeconds ours =
      (after.watched - before.watched) + (after.helpers - before.helpers) + (after.load - before.load);
  return (all - ours) / wall;
}

Json failures(const LoadClient& client) {
  return {{"errors", client.errors()}, {"first_error", client.first_error()}, {"sent", client.started()}};
}

Json measure(const Settings& settings) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  LoadClient client{settings.load};
  client.run_until(now() + to_nanoseconds(settings.warm_up_seconds));

  const Cost before = Cost::taken_now(settings);
  const Instant began = now();
  client.open_window();
  client.run_until(began + to_nanoseconds(settings.seconds));
  const LoadCounts seen = client.close_window();
  const RealSeconds wall = now() - began;
  const Cost after = Cost::taken_now(settings);
  if (!settings.load.ask.stream) client.finish_until(now() + std::chrono::seconds{2});

  const std::uint64_t units = settings.load.ask.stream ? seen.events : seen.requests;
  const RealSeconds used = after.watched - before.watched;
  const bool has_cost = !settings.watched.empty() && units > 0;
  Json result = failures(client);
  result.update(
      {{"wall_seconds", wall.count()},
       {"requests", seen.requests},
       {"events", seen.events},
       {"per_second", static_cast<double>(units) / wall.count()},
       {"events_per_read",
        seen.reads > 0 ? static_cast<double>(seen.events) / static_cast<double>(seen.reads) : 0.0},
       {"cpu_us_per_unit",
        has_cost ? Json(used.count() * kMicrosecondsPerSecond / static_cast<double>(units)) : Json()},
       {"watched_cores", used / wall},
       {"helper_cores", (after.helpers - before.helpers) / wall},
       {"load_cores", (after.load - before.load) / wall},
       {"foreign_cores", foreign_cores(before, after, settings, wall)}});
  const auto add_times = [&](const std::string& name, const Histogram& times) {
    result[name + "_p50_us"] = or_null(times.microseconds_at(0.50));
    result[name + "_p99_us"] = or_null(times.microseconds_at(0.99));
    result[name + "_count"] = times.count();
  };
  add_times("request", seen.request_time);
  add_times("first_event", seen.first_event_time);
  add_times("event_delay", seen.event_delay);
  return result;
}

/// Memory of the watched processes with all streams open, less what they had before the first.
Json hold(const Settings& settings) {
  const std::int64_t before = memory_bytes(settings.watched);
  LoadClient client{settings.load};
  const Instant give_up = now() + to_nanoseconds(settings.give_up_seconds);
  constexpr std::chrono::milliseconds kStep{50};
  while (client.answering() < settings.load.connections && now() < give_up) client.run_until(now() + kStep);
  client.run_until(now() + to_nanoseconds(settings.settle_seconds));
  const std::int64_t after = memory_bytes(settings.watched);
  const std::size_t open = client.answering();
  Json result = failures(client);
  result.update(
      {{"open_streams", open},
       {"bytes_before", before},
       {"bytes_after", after},
       {"bytes_per_stream",
        open > 0 ? Json(static_cast<double>(after - before) / static_cast<double>(open)) : Json()}});
  return result;
}

void add_options(CLI::App& app, Settings& settings) {
  LoadOptions& load = settings.load;
  app.add_option("--port", load.port, "on 127.0.0.1")->required();
  app.add_option("--header", load.headers, "a header line to add, \"name: value\"")->allow_extra_args(false);
  app.add_option("--connections", load.connections)->check(CLI::PositiveNumber);
  app.add_option("--body-bytes", load.body_bytes);
  app.add_option_function<std::uint32_t>(
         "--events",
         [&load](std::uint32_t events) {
           load.ask.events = events;
           load.ask.stream = load.ask.usage = true;
         },
         "ask for streams of so many events")
      ->check(CLI::PositiveNumber);
  app.add_option_function<std::int64_t>(
      "--interval-us", [&load](std::int64_t us) { load.ask.interval = std::chrono::microseconds{us}; },
      "between two events of a stream");
  app.add_option_function<double>(
      "--start-over", [&load](double seconds) { load.start_over = to_nanoseconds(seconds); },
      "seconds over which the connections begin");
  app.add_option_function<double>(
      "--pace", [&load](double seconds) { load.pace = to_nanoseconds(seconds); },
      "seconds between two requests of one connection; without it, the next follows at once");
  app.add_option("--warm-up", settings.warm_up_seconds, "seconds before the window");
  app.add_option("--seconds", settings.seconds, "of the window");
  app.add_flag("--hold", settings.hold, "open the streams and measure memory");
  app.add_option("--settle", settings.settle_seconds, "seconds after all streams are open (--hold)");
  app.add_option("--give-up", settings.give_up_seconds, "seconds to wait for all streams (--hold)");
  app.add_option("--watch", settings.watched, "process to measure, repeatable")->delimiter(',');
  app.add_option("--helper", settings.helpers, "process of the engines, repeatable")->delimiter(',');
  app.add_option("--watched-core", settings.watched_core);
  app.add_option("--load-core", settings.load_core);
}

}  // namespace
}  // namespace fareway::bench

int main(int argc, char** argv) {
  using namespace fareway::bench;
  CLI::App app{"Load for benchmarks, on 127.0.0.1"};
  Settings settings;
  add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  try {
    prepare_process();
    std::cout << (settings.hold ? hold(settings) : measure(settings)).dump() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "bench_load: " << error.what() << '\n';
    return 1;
  }
}
