#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "placement/simulation/workload.hpp"

namespace fareway {

/// Traces that arrive together.
struct SuiteScene {
  std::string name;
  std::vector<simulation::Trace> traces;
};

enum class SuiteKind {
  kPlacement,  ///< goodput, overload, dollars, faults, terms: on a fleet that is all there
  kElastic     ///< dollars and attainment where replicas come and go
};

struct SuiteOptions {
  SuiteKind kind{SuiteKind::kPlacement};
  std::vector<SuiteScene> scenes;
  int seeds{5};
  double seconds{900};           ///< of arrivals in one run: three times the longest deadline
  double elastic_seconds{2400};  ///< of arrivals where replicas come and go
  int jobs{2};                   ///< threads; the result does not depend on it
  bool quick{false};             ///< goodput at 99 % of the strongest policies only
};

/// Measures every policy on every scene and returns everything the tables show, lists by seed:
///   scenes[]: name, bound (99 %), own_rate (mean of Fareway's),
///             goodput[] {policy, rate[], rate95[], tokens[], hits[], moves[], classes[][3],
///                        points[] {rate, attainment} of the first seed},
///             loads[] {policy, load, attainment[], met[] (requests a second), classes[][3], all_in[]},
///             faults[], terms[], rules[] (each {policy, case, rate[]}),
///             elastic[] {policy, scaler, load, usd_per_hour[], attainment[]},
///             calibration[] {predicted, requests, missed} of the first seed
/// Equal options give an equal result, byte for byte.
nlohmann::json run_placement_suite(const SuiteOptions& options);

/// The result as Markdown tables.
std::string placement_tables(const nlohmann::json& suite);

/// Attainment over load of the policies of one scene, as an SVG document.
std::string attainment_svg(const nlohmann::json& scene);

}  // namespace fareway
