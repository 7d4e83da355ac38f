#include "bench/fits/benchmark_rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "bench/fits/csv.hpp"
#include "placement/catalogue/catalogue.hpp"

namespace fareway {
namespace {

struct BenchmarkRow {
  CalibrationKey key;
  std::string date;  ///< or version, where there is no date: only its order counts
  const Model* model{};
  const Device* device{};
  NumberFormat format{NumberFormat::kBf16};
  Parallelism parallelism;
  ClosedLoop load;
  Seconds tpot{};
  std::optional<Seconds> ttft;

  auto configuration() const {
    return std::tuple(load.input_tokens, load.output_tokens, parallelism.tp, parallelism.ep,
                      load.concurrency);
  }
};

/// "2026-05-18" is of "2026Q2".
std::string quarter(std::string_view date) {
  if (date.size() < 7) return {};
  const int month = (date[5] - '0') * 10 + (date[6] - '0');
  return fmt::format("{}Q{}", date.substr(0, 4), (month - 1) / 3 + 1);
}

std::optional<NumberFormat> format_of(std::string_view precision, const Model& model, const Device& device) {
  if (precision == "fp8") return NumberFormat::kFp8;
  if (precision == "bf16" || precision.empty()) return NumberFormat::kBf16;
  if (precision == "int4") return NumberFormat::kInt4;
  if (precision != "fp4") return std::nullopt;
  const bool microscaling = device.vendor == Vendor::kAmd || model.name.starts_with("gpt-oss");
  return microscaling ? NumberFormat::kMxfp4 : NumberFormat::kNvfp4;
}

/// Where model, device and format are known, the row with its key completed.
std::optional<BenchmarkRow> identified(BenchmarkRow row, std::string_view device, std::string_view model,
                                       std::string_view precision) {
  row.device = find_device(device);
  row.model = find_model(model);
  if (row.device == nullptr || row.model == nullptr) return std::nullopt;
  const auto format = format_of(precision, *row.model, *row.device);
  if (!format || row.model->checkpoint(*format) == nullptr) return std::nullopt;
  if (row.tpot.count() <= 0 || row.load.concurrency <= 0) return std::nullopt;
  row.format = *format;
  row.key.device = row.device->name;
  row.key.model = row.model->name;
  row.key.format = to_string(*format);
  return row;
}

std::uint32_t degree(const CsvTable& table, std::size_t row, std::string_view column) {
  return static_cast<std::uint32_t>(std::max(table.number(row, column).value_or(1), 1.0));
}

void read_inferencex(const std::filesystem::path& file, std::vector<BenchmarkRow>& rows) {
  const CsvTable table = CsvTable::read(file);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto is = [&](std::string_view column, std::string_view value) {
      return table.text(i, column) == value;
    };
    if (!is("disagg", "0") || !is("is_multinode", "0") || !is("spec_method", "none") ||
        !is("decode_dp_attention", "0"))
      continue;
    BenchmarkRow row;
    row.date = table.text(i, "date");
    row.key.engine = table.text(i, "framework");
    row.key.era = quarter(row.date);
    row.key.source = "InferenceX";
    row.parallelism = {.tp = degree(table, i, "decode_tp"), .ep = degree(table, i, "decode_ep")};
    row.load = {.input_tokens = table.number(i, "isl").value_or(0),
                .output_tokens = table.number(i, "osl").value_or(0),
                .concurrency = table.number(i, "conc").value_or(0)};
    row.tpot = Seconds{table.number(i, "median_tpot").value_or(0)};
    if (const auto ttft = table.number(i, "median_ttft")) row.ttft = Seconds{*ttft};
    if (auto known = identified(row, table.text(i, "hardware"), "DeepSeek-R1", table.text(i, "precision")))
      rows.push_back(std::move(*known));
  }
}

/// The text between `name` and the next separator, as in "…; measured=2026-04-17T00:00; …".
std::string_view field_of(std::string_view text, std::string_view name) {
  const std::size_t begin = text.find(name);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = text.substr(begin + name.size());
  return rest.substr(0, rest.find(';'));
}

/// aiconfigurator's names that are neither the catalogue's nor a repository's, and models that are others'
/// twins: the same architecture runs at the same speed, so its points belong together (and would be no test
/// of each other).
std::string_view aic_model(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kNames{
      {{"Qwen/Qwen3-235B-A22B-FP8", "Qwen3-235B-A22B"},
       {"meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B"},
       {"nvidia/Llama-3.1-8B-Instruct-FP8", "Llama-3.1-8B"},
       {"deepseek-ai/DeepSeek-V3", "DeepSeek-R1"},
       {"nvidia/DeepSeek-R1-NVFP4", "DeepSeek-R1"},
       {"zhipuai/GLM-5", "GLM-5"}}};
  for (const auto& [aic, ours] : kNames)
    if (path == aic) return ours;
  return path;
}

void read_aic(const std::filesystem::path& file, std::vector<BenchmarkRow>& rows) {
  const CsvTable table = CsvTable::read(file);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto several = [&](std::string_view column) { return table.number(i, column).value_or(1) > 1; };
    if (table.text(i, "mode") != "agg" || several("attention_dp_size") || several("pp_size")) continue;
    const std::string_view source = table.text(i, "silicon_data_source");
    const std::string_view concurrency = field_of(source, "silicon_concurrency=");
    double clients = table.number(i, "batch_size").value_or(0);
    std::from_chars(concurrency.data(), concurrency.data() + concurrency.size(), clients);
    BenchmarkRow row;
    const std::string_view measured = field_of(source, "measured=");
    row.date = measured.empty() ? table.text(i, "backend_version") : std::string{measured};
    row.key.engine = table.text(i, "backend");
    row.key.era = quarter(measured);
    row.key.source = "aiconfigurator";
    row.parallelism = {.tp = degree(table, i, "tp_size"), .ep = degree(table, i, "moe_ep_size")};
    row.load = {.input_tokens = table.number(i, "isl").value_or(0),
                .output_tokens = table.number(i, "osl").value_or(0),
                .concurrency = clients};
    row.tpot = Seconds{table.number(i, "silicon_tpot_ms").value_or(0) / 1000};
    const double ttft = table.number(i, "silicon_ttft_ms").value_or(0) / 1000;
    if (ttft > 0) row.ttft = Seconds{ttft};
    std::string_view system = table.text(i, "system");
    system = system.substr(0, system.find('_'));
    if (auto known =
            identified(row, system, aic_model(table.text(i, "model_path")), table.text(i, "precision")))
      rows.push_back(std::move(*known));
  }
}

Observation observation_of(const BenchmarkRow& row) {
  const Placement placement{.model = *row.model,
                            .device = *row.device,
                            .parallelism = row.parallelism,
                            .format = row.format,
                            .weights = row.model->checkpoint(row.format)->weights};
  return {.terms = roofline_terms(placement), .load = row.load, .tpot = row.tpot, .ttft = row.ttft};
}

}  // namespace

BenchmarkGroups read_benchmark_groups(const std::filesystem::path& data) {
  std::vector<BenchmarkRow> rows;
  read_inferencex(data / "bench/inferencex_dsr1_history.csv", rows);
  read_inferencex(data / "bench/inferencex_dsr1_latest.csv", rows);
  read_aic(data / "bench/aic_silicon_sample.csv", rows);
  // Newest first within a configuration, so that `unique` keeps that one.
  std::ranges::stable_sort(rows, [](const BenchmarkRow& a, const BenchmarkRow& b) {
    return std::tuple(a.key, a.configuration(), b.date) < std::tuple(b.key, b.configuration(), a.date);
  });
  const auto repeated = std::ranges::unique(rows, [](const BenchmarkRow& a, const BenchmarkRow& b) {
    return a.key == b.key && a.configuration() == b.configuration();
  });
  rows.erase(repeated.begin(), repeated.end());
  BenchmarkGroups groups;
  for (const BenchmarkRow& row : rows) groups[row.key].push_back(observation_of(row));
  return groups;
}

}  // namespace fareway
