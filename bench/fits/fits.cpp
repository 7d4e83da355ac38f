#include "bench/fits/fits.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "placement/catalogue/catalogue.hpp"

namespace fareway {
namespace {

void note_range(Fit& fit, const std::vector<Observation>& observations) {
  for (const Observation& each : observations) {
    fit.longest_context = std::max(fit.longest_context, each.load.input_tokens + each.load.output_tokens);
    fit.most_concurrency = std::max(fit.most_concurrency, each.load.concurrency);
  }
}

using ObservationsByModel = std::map<std::string, std::vector<Observation>>;

/// Every model counts the same, however often it was measured.
std::vector<Observation> equally_weighted(const ObservationsByModel& models, const std::string& left_out) {
  std::vector<Observation> all;
  for (const auto& [model, observations] : models) {
    if (model == left_out) continue;
    for (Observation observation : observations) {
      observation.weight = 1.0 / static_cast<double>(observations.size());
      all.push_back(observation);
    }
  }
  return all;
}

HoldOut leave_one_model_out(const ObservationsByModel& models, std::vector<double>& all_tpot) {
  std::vector<double> tpot;
  std::vector<double> ttft;
  for (const auto& [model, observations] : models) {
    const Calibration others = fit_calibration(equally_weighted(models, model));
    std::ranges::copy(tpot_errors(observations, others), std::back_inserter(tpot));
    std::ranges::copy(ttft_errors(observations, others), std::back_inserter(ttft));
  }
  std::ranges::copy(tpot, std::back_inserter(all_tpot));
  return {.tpot = relative_error(std::move(tpot)), .ttft = relative_error(std::move(ttft))};
}

/// TPOT errors of every model by the fit of every single other one.
std::vector<double> one_model_errors(const ObservationsByModel& models) {
  std::vector<double> errors;
  for (const auto& [base, base_points] : models) {
    const Calibration calibration = fit_calibration(base_points);
    for (const auto& [model, points] : models)
      if (model != base) std::ranges::copy(tpot_errors(points, calibration), std::back_inserter(errors));
  }
  return errors;
}

std::map<std::string, ObservationsByModel> usable_by_device(const BenchmarkGroups& groups,
                                                            const std::vector<Fit>& fits) {
  std::map<std::string, ObservationsByModel> devices;
  for (const Fit& fit : fits) {
    if (!is_usable(fit)) continue;
    const std::vector<Observation>& observations = groups.at(fit.key);
    std::ranges::copy(observations, std::back_inserter(devices[fit.key.device][fit.key.model]));
  }
  return devices;
}

}  // namespace

bool is_usable(const Fit& fit) {
  return fit.held_out.tpot.median <= kUsableError;
}

std::vector<Fit> group_fits(const BenchmarkGroups& groups) {
  std::vector<Fit> fits;
  for (const auto& [key, observations] : groups) {
    if (observations.size() < kFewestPoints) continue;
    Fit fit{.key = key, .calibration = fit_calibration(observations)};
    fit.own = relative_error(tpot_errors(observations, fit.calibration));
    fit.held_out = hold_out(observations);
    note_range(fit, observations);
    fits.push_back(std::move(fit));
  }
  return fits;
}

PooledFits pooled_fits(const BenchmarkGroups& groups, const std::vector<Fit>& fits) {
  PooledFits pooled;
  std::vector<double> all_tpot;
  std::vector<double> transferred;
  for (const auto& [device, models] : usable_by_device(groups, fits)) {
    if (models.size() < 2) continue;
    const std::vector<Observation> all = equally_weighted(models, "");
    Fit fit{.key = {.device = device}, .calibration = fit_calibration(all), .models = models.size()};
    fit.own = relative_error(tpot_errors(all, fit.calibration));
    fit.held_out = leave_one_model_out(models, all_tpot);
    std::ranges::copy(one_model_errors(models), std::back_inserter(transferred));
    note_range(fit, all);
    pooled.devices.push_back(std::move(fit));
  }
  pooled.unseen_model = relative_error(std::move(all_tpot));
  pooled.from_one_model = relative_error(std::move(transferred));
  return pooled;
}

std::vector<Fit> newest_fits(const std::vector<Fit>& fits) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Fit> newest;
  for (const Fit& fit : fits) {
    if (!is_usable(fit)) continue;
    const auto [at, added] =
        newest.try_emplace({fit.key.device, fit.key.model, fit.key.format, fit.key.engine}, fit);
    const auto rank = [](const Fit& each) { return std::tuple(each.key.era, each.own.points); };
    if (!added && rank(fit) > rank(at->second)) at->second = fit;
  }
  std::vector<Fit> kept;
  for (auto& [key, fit] : newest) kept.push_back(std::move(fit));
  return kept;
}

RelativeError data_sheet_errors(const BenchmarkGroups& groups, const std::vector<Fit>& fits) {
  std::vector<double> errors;
  for (const Fit& fit : fits) {
    if (!is_usable(fit)) continue;
    const Calibration sheet = data_sheet_calibration(*find_device(fit.key.device));
    std::ranges::copy(tpot_errors(groups.at(fit.key), sheet), std::back_inserter(errors));
  }
  return relative_error(std::move(errors));
}

}  // namespace fareway
