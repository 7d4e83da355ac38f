#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "placement/speed/calibration_fit.hpp"

namespace fareway {

/// What belongs to one calibration: one model in one format on one device, served by one engine of one
/// quarter. Engines get faster by tens of per cent a quarter, so rows of different quarters are different
/// machines.
struct CalibrationKey {
  std::string device;
  std::string model;
  std::string format;
  std::string engine;
  std::string era;     ///< "2026Q2"; empty where the source does not date its rows
  std::string source;  ///< the data set
  auto operator<=>(const CalibrationKey&) const = default;
};

using BenchmarkGroups = std::map<CalibrationKey, std::vector<Observation>>;

/// The aggregated single-node runs without speculative decoding and without DP attention of
///     bench/inferencex_dsr1_{latest,history}.csv   (InferenceX)
///     bench/aic_silicon_sample.csv                 (aiconfigurator, attention DP and PP of one)
/// under `data`, of models and formats that the catalogue knows, each configuration once: its newest row of
/// the quarter. Rows are sorted by date, then workload, parallelism and concurrency. The KV cache is taken as
/// bf16.
BenchmarkGroups read_benchmark_groups(const std::filesystem::path& data);

}  // namespace fareway
