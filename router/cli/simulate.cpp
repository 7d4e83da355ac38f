#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "router/cli/commands.hpp"
#include "router/cli/placement_suite.hpp"
#include "router/cli/trace_files.hpp"

namespace fareway {
namespace {

constexpr std::uint64_t kGeneratedTraceSeed = 11;
constexpr double kQuickSeconds = 240;

/// The four recorded traces and all of them at once; without data one generated trace.
std::vector<SuiteScene> scenes(const SimulateOptions& options) {
  if (options.data.empty())
    return {{.name = "generated", .traces = {simulation::generate_trace({}, kGeneratedTraceSeed)}}};
  const std::vector<simulation::Trace> traces = read_traces(options.data);
  std::vector<SuiteScene> all;
  for (const simulation::Trace& trace : traces) all.push_back({.name = trace.name, .traces = {trace}});
  all.push_back({.name = "mix", .traces = traces});
  if (options.trace.empty()) return all;
  std::erase_if(all, [&](const SuiteScene& scene) { return scene.name != options.trace; });
  if (all.empty())
    throw std::runtime_error("--trace " + options.trace +
                             ": the traces are conv, code, mooncake, synthetic, mix");
  return all;
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw std::runtime_error(file.string() + ": cannot be written");
}

}  // namespace

int simulate_placement(const SimulateOptions& options) {
  SuiteOptions suite{.kind = options.suite == "elastic" ? SuiteKind::kElastic : SuiteKind::kPlacement,
                     .scenes = scenes(options),
                     .seeds = options.seeds,
                     .jobs = options.jobs,
                     .quick = options.quick};
  if (options.quick) suite.seconds = kQuickSeconds;
  const nlohmann::json result = run_placement_suite(suite);
  if (options.json) {
    std::cout << result.dump(1) << '\n';
  } else {
    std::cout << placement_tables(result);
  }
  if (options.svg.empty()) return 0;
  std::filesystem::create_directories(options.svg);
  for (const nlohmann::json& scene : result["scenes"])
    write(options.svg / (scene["name"].get<std::string>() + ".svg"), attainment_svg(scene));
  return 0;
}

}  // namespace fareway
