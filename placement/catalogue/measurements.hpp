#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/model/capacity.hpp"
#include "placement/model/number_format.hpp"
#include "placement/speed/measured_curve.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

struct ColdPrefill {
  double tokens{};
  Seconds time{};
};

/// What somebody has measured on one deployment with one software version. Anything may be missing but the
/// source.
struct MeasuredDeployment {
  std::string_view model;
  std::string_view device;
  Parallelism parallelism;
  NumberFormat format{NumberFormat::kBf16};
  std::string_view software;
  std::string_view date;  ///< "2026-05-18" or "2026-06"; empty where the source does not say
  std::string_view source;
  std::vector<MeasuredPoint> points;
  std::optional<TokensPerSecond> stream;     ///< one sequence alone
  std::optional<TokensPerSecond> aggregate;  ///< the most of all sequences together
  std::optional<ColdPrefill> prefill;
};

/// In measurements.cpp, later software of a deployment after earlier. Built once; safe from any thread.
std::span<const MeasuredDeployment> measured_deployments();

/// The latest software of this deployment; null where nobody has measured it.
const MeasuredDeployment* find_measurement(std::string_view model, std::string_view device,
                                           const Parallelism& parallelism, NumberFormat format);

/// Gains of speculative decoding, measured: factors over the same deployment without it.
struct MeasuredSpeculation {
  std::string_view model;
  std::string_view device;
  std::string_view method;
  double single_stream{};  ///< of tok/s
  double loaded_stream{};  ///< of each stream's tok/s at moderate load
  double aggregate{};
  std::string_view source;
};
/// Null where nobody has measured it.
const MeasuredSpeculation* find_speculation(std::string_view model, std::string_view device,
                                            std::string_view method);

}  // namespace fareway
