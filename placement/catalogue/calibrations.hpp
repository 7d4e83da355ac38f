#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "placement/model/number_format.hpp"
#include "placement/speed/calibration_fit.hpp"
#include "placement/speed/roofline.hpp"

namespace fareway {

/// A fitted calibration: what it was fitted to, and how far it was off points that it had not seen. Format
/// and engine are of one model; an entry without a model pools all models of its device.
struct CalibrationEntry {
  std::string_view device;
  std::string_view model;  ///< empty: all models of the device, each with the same weight
  std::optional<NumberFormat> format;
  std::string_view engine;
  std::string_view era;     ///< quarter of the measurements, "2026Q2"; empty where undated
  std::string_view source;  ///< data set
  Calibration calibration;
  RelativeError
      tpot;  ///< held-out half of the points; of a pooled entry: each model predicted from the others
  RelativeError ttft;         ///< the same; no points where none was measured
  double longest_context{};   ///< tokens a sequence, of the points
  double most_concurrency{};  ///< of the points
};

/// calibrations.cpp, which `bench_fits fit` writes; docs/models.md says how.
std::span<const CalibrationEntry> calibrations();

/// How far the data sheet with kernel efficiencies alone is off the same points.
RelativeError data_sheet_error();

/// The entry of this device, model and format that rests on the newest quarter, and of those on most points;
/// null where there is none.
const CalibrationEntry* find_calibration(std::string_view device, std::string_view model,
                                         NumberFormat format);
/// The pooled entry of the device; null where there is none.
const CalibrationEntry* find_pooled_calibration(std::string_view device);

}  // namespace fareway
