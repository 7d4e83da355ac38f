#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/speed/deployment_text.hpp"
#include "placement/speed/frontier.hpp"
#include "placement/speed/speed_estimate.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What one comparison is about: every deployment of the same model under the same load and targets.
struct ComparisonLoad {
  double input_tokens{};
  double output_tokens{};
  std::optional<Seconds> tpot;  ///< of every user; nothing: as slow as it gets
  std::optional<Seconds> ttft;  ///< on an idle replica
};

/// One deployment at its price.
struct PricedDeployment {
  NamedDeployment deployment;
  UsdPerHour per_device_hour;
};

/// What a deployment can be run at under the load, from one client to as many as its KV cache holds.
struct DeploymentCurve {
  PricedDeployment offer;
  SpeedEstimate estimate;
  Frontier frontier;  ///< output tok/s of the whole deployment over tok/s a user
  Seconds cold_ttft{};
  std::string excluded;  ///< why it cannot serve this load at all; empty: it can

  double dollars_an_hour() const;
};
DeploymentCurve curve_of(const PricedDeployment& offer, const ComparisonLoad& load, Bytes reserve_per_device);

/// A deployment's place among others at one throughput each.
struct RankedOffer {
  std::size_t index{};  ///< into what was ranked
  double tokens_per_second{};
  double tokens_per_dollar_hour{};  ///< tok/s per $/h
  UsdPerMTok per_mtok{};
  UsdPerHour
      break_even_device_hour{};  ///< at which it would serve as cheaply as the leader; its own for the leader
  bool extrapolated{};
};
/// One deployment of `devices` devices that makes `tokens_per_second`.
struct Throughput {
  std::size_t index{};
  double devices{};
  UsdPerHour per_device_hour;
  double tokens_per_second{};
  bool extrapolated{};  ///< beyond the points that the deployment's speed rests on
};
/// Cheapest dollars per token first.
std::vector<RankedOffer> ranked(const std::vector<Throughput>& offers);

/// The deployments that reach `interactivity` tok/s a user, at the most throughput that leaves it to them.
std::vector<RankedOffer> ranked_at(const std::vector<DeploymentCurve>& curves, double interactivity);
/// Those with a published aggregate, at that, whatever its load was.
std::vector<RankedOffer> ranked_as_published(const std::vector<DeploymentCurve>& curves);

/// Where the cheapest deployment changes as users ask for more tokens a second, each within 0.1 tok/s.
struct Flip {
  double interactivity{};
  std::size_t from{};
  std::size_t to{};
};
std::vector<Flip> flips(const std::vector<DeploymentCurve>& curves);

}  // namespace fareway
