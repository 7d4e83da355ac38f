#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bench/fits/fits.hpp"

namespace fareway {
namespace {

std::string format_enumerator(std::string_view format) {
  if (format == "bf16") return "NumberFormat::kBf16";
  if (format == "fp8") return "NumberFormat::kFp8";
  if (format == "int4") return "NumberFormat::kInt4";
  return format == "mxfp4" ? "NumberFormat::kMxfp4" : "NumberFormat::kNvfp4";
}

std::string entry_text(const Fit& fit) {
  const Calibration& c = fit.calibration;
  const RelativeError& tpot = fit.held_out.tpot;
  const RelativeError& ttft = fit.held_out.ttft;
  const bool pooled = fit.key.model.empty();
  const std::string source = pooled ? "all models of the device" : fit.key.source;
  return fmt::format(
      "    {{\"{}\", \"{}\", {}, \"{}\", \"{}\", \"{}\",\n     {{{:.3f}, {:.3f}, {:.3f}, {:.1f}e-6, "
      "{:.1f}e-6, {:.3f}, "
      "{:.3f}}}, {{{:.3f}, {:.3f}, {}}}, {{{:.3f}, {:.3f}, {}}}, {:.0f}, {:.0f}}},\n",
      fit.key.device, fit.key.model, pooled ? "std::nullopt" : format_enumerator(fit.key.format),
      fit.key.engine, fit.key.era, source, c.weights, c.kv, c.collectives, c.layer_overhead * 1e6,
      c.sequence_overhead * 1e6, c.compute, c.first_token, tpot.median, tpot.p90, tpot.points, ttft.median,
      ttft.p90, ttft.points, fit.longest_context, fit.most_concurrency);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string ttft_cell(const RelativeError& ttft) {
  return ttft.points == 0 ? "-" : percent(ttft.median);
}

}  // namespace

std::string calibrations_source(const std::vector<Fit>& models, const PooledFits& pooled,
                                const RelativeError& data_sheet) {
  std::string text =
      "// Written by `bench_fits fit`; docs/models.md says how to write it again and where the points come "
      "from.\n"
      "#include \"placement/catalogue/calibrations.hpp\"\n\n#include <array>\n\nnamespace fareway "
      "{\nnamespace {\n\n";
  text += fmt::format(
      "// device, model, format, engine, quarter, source, {{weights, kv, collectives, seconds a layer, "
      "seconds a\n"
      "// sequence, compute, seconds before the first token}}, held out {{median, p90, points}} of TPOT and "
      "of TTFT,\n"
      "// longest context, most concurrency\n// clang-format off\n"
      "const std::array<CalibrationEntry, {}> kCalibrations{{{{\n",
      models.size() + pooled.devices.size());
  for (const Fit& fit : models) text += entry_text(fit);
  for (const Fit& fit : pooled.devices) text += entry_text(fit);
  text +=
      "}};\n// clang-format on\n\n}  // namespace\n\nstd::span<const CalibrationEntry> calibrations() {\n  "
      "return kCalibrations;\n}\n\n";
  text += fmt::format("RelativeError data_sheet_error() {{\n  return {{{:.3f}, {:.3f}, {}}};\n}}\n\n",
                      data_sheet.median, data_sheet.p90, data_sheet.points);
  return text + "}  // namespace fareway\n";
}

std::string hold_out_tables(const std::vector<Fit>& models, const PooledFits& pooled,
                            const RelativeError& data_sheet) {
  std::string text =
      "| device | model | format | engine | quarter | points | fitted | TPOT median | TPOT p90 | TTFT median "
      "| used |\n"
      "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n";
  for (const Fit& fit : models) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", fit.key.device,
                        fit.key.model, fit.key.format, fit.key.engine,
                        fit.key.era.empty() ? "-" : fit.key.era, fit.own.points, percent(fit.own.median),
                        percent(fit.held_out.tpot.median), percent(fit.held_out.tpot.p90),
                        ttft_cell(fit.held_out.ttft), is_usable(fit) ? "yes" : "no");
  }
  text +=
      "\n| device | models | points | TPOT median | TPOT p90 | TTFT median |\n| --- | ---: | ---: | ---: | "
      "---: | ---: |\n";
  for (const Fit& fit : pooled.devices) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", fit.key.device, fit.models, fit.own.points,
                        percent(fit.held_out.tpot.median), percent(fit.held_out.tpot.p90),
                        ttft_cell(fit.held_out.ttft));
  }
  text += fmt::format("| all | | {} | {} | {} | |\n", pooled.unseen_model.points,
                      percent(pooled.unseen_model.median), percent(pooled.unseen_model.p90));
  text += fmt::format("\nFits of one other model of the device: median {}, p90 {}.\n",
                      percent(pooled.from_one_model.median), percent(pooled.from_one_model.p90));
  return text + fmt::format("Data sheet alone: median {}, p90 {}, {} points.\n", percent(data_sheet.median),
                            percent(data_sheet.p90), data_sheet.points);
}

}  // namespace fareway
