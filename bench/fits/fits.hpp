#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/fits/benchmark_rows.hpp"
#include "placement/speed/calibration_fit.hpp"

namespace fareway {

/// One calibration with what the documentation says of it.
struct Fit {
  CalibrationKey key;  ///< of a pooled fit: device only
  Calibration calibration;
  RelativeError own;  ///< TPOT of the points it was fitted to
  HoldOut held_out;   ///< of a pooled fit: every model predicted by a fit of the others
  std::size_t models{1};
  double longest_context{};
  double most_concurrency{};
};

/// Fewer points leave too few on either side of a hold-out.
constexpr std::size_t kFewestPoints = 8;
/// Where half of a group's points cannot tell the others within this, the group ran something that its rows
/// do not say (speculative decoding, another format): it is measured, and published, but not used.
constexpr double kUsableError = 0.25;

/// One fit a group of `kFewestPoints` and more, in the order of the groups.
std::vector<Fit> group_fits(const BenchmarkGroups& groups);

/// One fit a device over its usable groups, each model with the same weight. Devices with a single model have
/// none: `from_one_model` shows that its worst predictions of others are worse than a data sheet's.
struct PooledFits {
  std::vector<Fit> devices;
  RelativeError
      unseen_model;  ///< TPOT of every model by fits of the device's other models, all devices together
  RelativeError from_one_model;  ///< the same by fits of one other model
};
PooledFits pooled_fits(const BenchmarkGroups& groups, const std::vector<Fit>& fits);

bool is_usable(const Fit& fit);

/// The usable fits of the newest quarter for every device, model, format and engine.
std::vector<Fit> newest_fits(const std::vector<Fit>& fits);

/// TPOT of all usable points by data sheet and kernel efficiencies alone.
RelativeError data_sheet_errors(const BenchmarkGroups& groups, const std::vector<Fit>& fits);

/// placement/catalogue/calibrations.cpp.
std::string calibrations_source(const std::vector<Fit>& models, const PooledFits& pooled,
                                const RelativeError& data_sheet);
/// The tables of docs/models.md.
std::string hold_out_tables(const std::vector<Fit>& models, const PooledFits& pooled,
                            const RelativeError& data_sheet);

}  // namespace fareway
