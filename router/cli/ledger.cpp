#include <chrono>
#include <iostream>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include "pricing/money.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/time_text.hpp"

namespace fareway {
namespace {

std::optional<WallTime> instant(const std::string& option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto found = parse_instant(text, std::chrono::system_clock::now());
  if (!found)
    throw std::runtime_error(
        option + " \"" + text +
        "\" is no time; write a time ago (24h, 7d), a UTC date (2026-11-30) or a UTC instant "
        "(2026-11-30T12:00:00Z)");
  return found;
}

nlohmann::ordered_json to_json(const ReportLine& line) {
  nlohmann::ordered_json json{{"key", line.key},
                              {"requests", line.requests},
                              {"prompt_tokens", line.prompt.value},
                              {"cached_tokens", line.cached.value},
                              {"completion_tokens", line.completion.value},
                              {"cost_nanousd", line.cost.value},
                              {"idle_nanousd", line.idle.value},
                              {"price_nanousd", line.price.value},
                              {"unpriced_requests", line.unpriced},
                              {"uncounted_requests", line.uncounted}};
  json["margin_nanousd"] = line.margin ? nlohmann::ordered_json(line.margin->value) : nullptr;
  json["cost_usd_per_mtok"] =
      line.cost_per_mtok ? nlohmann::ordered_json(line.cost_per_mtok->value) : nullptr;
  return json;
}

void print_json(const Report& report) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const ReportLine& line : report.lines) lines.push_back(to_json(line));
  std::cout << nlohmann::ordered_json{{"lines", lines}, {"total", to_json(report.total)}}.dump(2) << '\n';
}

/// Dollars for reading: six decimals, rounded to the nearest millionth. `--json` has every nanodollar.
std::string dollars(NanoUsd amount) {
  return fmt::format("{:.6f}", to_usd(amount).value);
}

void print_line(const ReportLine& line, bool with_idle) {
  std::cout << fmt::format("{:<20} {:>9} {:>13} {:>12} {:>12} {:>14} ", line.key, line.requests,
                           line.prompt.value, line.cached.value, line.completion.value, dollars(line.cost));
  if (with_idle) std::cout << fmt::format("{:>14} ", dollars(line.idle));
  std::cout << fmt::format("{:>14} {:>14} {:>10}\n", dollars(line.price),
                           line.margin ? dollars(*line.margin) : "unknown",
                           line.cost_per_mtok ? fmt::format("{:.3f}", line.cost_per_mtok->value) : "-");
}

void print_table(const Report& report, ReportKey by) {
  const bool with_idle = by == ReportKey::kPool;
  std::cout << fmt::format("{:<20} {:>9} {:>13} {:>12} {:>12} {:>14} ", "", "requests", "tokens in", "cached",
                           "out", "cost $");
  if (with_idle) std::cout << fmt::format("{:>14} ", "idle $");
  std::cout << fmt::format("{:>14} {:>14} {:>10}\n", "price $", "margin $", "$/Mtoken");
  for (const ReportLine& line : report.lines) print_line(line, with_idle);
  print_line(report.total, with_idle);
  if (report.total.uncounted > 0)
    std::cout << report.total.uncounted
              << " requests have no known token counts; they add cost but no tokens.\n";
  if (report.total.unpriced > 0)
    std::cout << report.total.unpriced
              << " requests have no known price; the margin leaves nothing out but that.\n";
}

}  // namespace

int print_report(const ReportOptions& options) {
  const Report report = ledger_report(options.ledger_file, options.by, instant("--since", options.since),
                                      instant("--until", options.until));
  options.json ? print_json(report) : print_table(report, options.by);
  return 0;
}

}  // namespace fareway
