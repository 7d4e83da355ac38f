#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "router/cli/placement_suite.hpp"

namespace fareway {
namespace {

using nlohmann::json;

/// Of the reference fleet, over which goodput per dollar is given.
constexpr double kFleetUsdPerHour = 236;

struct Range {
  double mean{0};
  double low{0};
  double high{0};
};

Range range_of(const json& values) {
  Range result{0, 1e300, -1e300};
  for (const json& value : values) {
    const double number = value.get<double>();
    result.mean += number / static_cast<double>(values.size());
    result.low = std::min(result.low, number);
    result.high = std::max(result.high, number);
  }
  return values.empty() ? Range{} : result;
}

std::string ranged(const json& values, int digits) {
  const Range s = range_of(values);
  return values.size() < 2
             ? fmt::format("{:.{}f}", s.mean, digits)
             : fmt::format("{:.{}f} ({:.{}f}–{:.{}f})", s.mean, digits, s.low, digits, s.high, digits);
}

/// Mean over the seeds of each class's share, in percent.
std::string by_class(const json& seeds) {
  std::string text;
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0;
    for (const json& seed : seeds) sum += seed.at(c).get<double>();
    text += fmt::format("{}{:.1f}", c == 0 ? "" : " / ", 100 * sum / static_cast<double>(seeds.size()));
  }
  return text;
}

const json* row_of(const json& rows, std::string_view policy) {
  const auto found = std::ranges::find_if(rows, [&](const json& row) { return row["policy"] == policy; });
  return found == rows.end() ? nullptr : &*found;
}

double mean_rate(const json& row) {
  return range_of(row["rate"]).mean;
}

std::string over(double ours, double theirs) {
  return theirs > 0 ? fmt::format("{:+.0f} %", 100 * (ours / theirs - 1)) : "-";
}

std::string headline(const json& scenes) {
  std::string text =
      "| trace | Fareway | over shortest predicted latency | over the best public policy | LP bound | share "
      "of it |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const json& scene : scenes) {
    const json& rows = scene["goodput"];
    const double ours = mean_rate(rows[0]);
    const json* predicted = row_of(rows, "shortest predicted latency");
    const json* best = nullptr;
    for (const json& row : rows) {
      if (&row == &rows[0] || &row == predicted) continue;
      if (best == nullptr || mean_rate(row) > mean_rate(*best)) best = &row;
    }
    const double bound = scene["bound"];
    text +=
        fmt::format("| {} | {} req/s | {} | {} ({}) | {:.1f} | {:.2f} |\n", scene["name"].get<std::string>(),
                    ranged(rows[0]["rate"], 1), over(ours, mean_rate(*predicted)),
                    over(ours, mean_rate(*best)), (*best)["policy"].get<std::string>(), bound, ours / bound);
  }
  return text;
}

std::string goodput_table(const json& scene) {
  std::string text = fmt::format(
      "\n### {}: goodput\n\n| policy | req/s at 99 % | per fleet dollar | tokens per fleet dollar | each "
      "class % | req/s at "
      "95 % | hits % | moves % |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
      scene["name"].get<std::string>());
  for (const json& row : scene["goodput"]) {
    text += fmt::format("| {} | {} | {:.0f} | {:.0f} | {} | {} | {:.0f} | {:.0f} |\n",
                        row["policy"].get<std::string>(), ranged(row["rate"], 1),
                        mean_rate(row) * 3600 / kFleetUsdPerHour,
                        range_of(row["tokens"]).mean * 3600 / kFleetUsdPerHour, by_class(row["classes"]),
                        row.contains("rate95") ? ranged(row["rate95"], 1) : "-",
                        100 * range_of(row["hits"]).mean, 100 * range_of(row["moves"]).mean);
  }
  return text;
}

std::string loads_table(const json& scene) {
  std::string text = fmt::format(
      "\n### {}: at shares of Fareway's own rate ({:.1f} req/s)\n\n| policy | load | attained % | each class "
      "% | met a second | GPU + misses, $ per 1,000 requests |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
      scene["name"].get<std::string>(), scene["own_rate"].get<double>());
  for (const json& row : scene["loads"]) {
    text +=
        fmt::format("| {} | {:.0f} % | {:.1f} | {} | {:.1f} | {:.2f} |\n", row["policy"].get<std::string>(),
                    100 * row["load"].get<double>(), 100 * range_of(row["attainment"]).mean,
                    by_class(row["classes"]), range_of(row["met"]).mean, 1000 * range_of(row["all_in"]).mean);
  }
  return text;
}

/// Goodput under `list`'s cases, as a share of the same policy's undisturbed one where `relative`.
std::string variants_table(const json& scene, const char* list, const char* title) {
  std::string text = fmt::format(
      "\n### {}: {}\n\n| case | policy | req/s at 99 % | of its undisturbed goodput |\n| --- | --- | ---: | "
      "---: |\n",
      scene["name"].get<std::string>(), title);
  for (const json& row : scene[list]) {
    const json* base = row_of(scene["goodput"], row["policy"].get<std::string>());
    text += fmt::format("| {} | {} | {} | {:.0f} % |\n", row["case"].get<std::string>(),
                        row["policy"].get<std::string>(), ranged(row["rate"], 1),
                        base == nullptr ? 0 : 100 * mean_rate(row) / mean_rate(*base));
  }
  return text;
}

std::string elastic_table(const json& scene) {
  std::string text = fmt::format(
      "\n### {}: which replicas exist, $ an hour (share attained)\n\n| policy | scaler | 20 % | 40 % | 60 % "
      "| 80 % |\n| --- | --- "
      "| ---: | ---: | ---: | ---: |",
      scene["name"].get<std::string>());
  std::string last;
  for (const json& row : scene["elastic"]) {
    const std::string who =
        fmt::format("\n| {} | {} |", row["policy"].get<std::string>(), row["scaler"].get<std::string>());
    if (who != last) text += who;
    last = who;
    text += fmt::format(" {:.0f} ({:.1f} %) |", range_of(row["usd_per_hour"]).mean,
                        100 * range_of(row["attainment"]).mean);
  }
  return text + "\n";
}

std::string calibration_table(const json& scene) {
  std::string text = fmt::format(
      "\n### {}: calibration at Fareway's own rate\n\n| predicted to miss | requests | missed |\n| ---: | "
      "---: | ---: |\n",
      scene["name"].get<std::string>());
  for (const json& bin : scene["calibration"]) {
    text += fmt::format("| {:.1f} % | {} | {:.1f} % |\n", 100 * bin["predicted"].get<double>(),
                        bin["requests"].get<std::int64_t>(),
                        100 * bin["missed"].get<double>() / bin["requests"].get<double>());
  }
  return text;
}

}  // namespace

std::string placement_tables(const json& suite) {
  std::string text = fmt::format("{} seeds of {:.0f} s of arrivals; mean (lowest–highest).\n\n",
                                 suite["seeds"].get<int>(), suite["seconds"].get<double>());
  const bool compares = suite["scenes"].at(0)["goodput"].size() > 1;
  if (compares) text += headline(suite["scenes"]);
  for (const json& scene : suite["scenes"]) {
    if (!scene["elastic"].empty()) text += elastic_table(scene);
    if (!compares) continue;
    text += goodput_table(scene);
    if (scene["loads"].empty()) continue;
    text += loads_table(scene) + variants_table(scene, "faults", "what goes wrong") +
            variants_table(scene, "terms", "each term removed") +
            variants_table(scene, "rules", "other class rules") + calibration_table(scene);
  }
  return text;
}

}  // namespace fareway
