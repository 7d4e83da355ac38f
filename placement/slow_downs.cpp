#include "placement/slow_downs.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {
namespace {

constexpr double kFewestSeen = 5;
constexpr double kSlowerThanSiblings = 1.3;
constexpr double kSlowerThanProfile = 1.3;
constexpr double kAllSlowAlike = 2;
constexpr double kStandardErrors = 3;

SpeedFactor factor_of(const Replica& replica, WorkPhase phase) {
  return phase == WorkPhase::kDecode ? replica.correction.decode() : replica.correction.prefill();
}

std::vector<double> siblings_of(const Fleet& fleet, ReplicaIndex index, WorkPhase phase) {
  std::vector<double> factors;
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const Replica& other = fleet.replicas[i];
    if (ReplicaIndex{i} == index || other.deployment != fleet[index].deployment) continue;
    const SpeedFactor factor = factor_of(other, phase);
    if (factor.seen >= kFewestSeen) factors.push_back(factor.factor);
  }
  return factors;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool slower(double times, const SpeedFactor& factor, double at_least) {
  return times >= at_least && std::log(times) > kStandardErrors * factor.spread / std::sqrt(factor.seen);
}

std::optional<SlowDown> judge(const Fleet& fleet, ReplicaIndex index, WorkPhase phase) {
  const SpeedFactor factor = factor_of(fleet[index], phase);
  if (factor.seen < kFewestSeen) return std::nullopt;
  SlowDown found{.replica = index,
                 .phase = phase,
                 .of_profile = factor.factor,
                 .of_siblings = {},
                 .siblings = 0,
                 .observations = factor.seen,
                 .spread = factor.spread};
  const std::vector<double> siblings = siblings_of(fleet, index, phase);
  if (siblings.empty())
    return slower(factor.factor, factor, kSlowerThanProfile) ? std::optional(found) : std::nullopt;
  found.siblings = siblings.size();
  found.of_siblings = factor.factor / median(siblings);
  const bool is_slow =
      slower(*found.of_siblings, factor, kSlowerThanSiblings) || slower(factor.factor, factor, kAllSlowAlike);
  return is_slow ? std::optional(found) : std::nullopt;
}

}  // namespace

std::string_view to_string(WorkPhase phase) {
  return phase == WorkPhase::kDecode ? "decode" : "prefill";
}

std::vector<SlowDown> slow_downs(const Fleet& fleet) {
  std::vector<SlowDown> found;
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    for (const WorkPhase phase : {WorkPhase::kPrefill, WorkPhase::kDecode})
      if (const auto slow = judge(fleet, ReplicaIndex{i}, phase)) found.push_back(*slow);
  }
  return found;
}

}  // namespace fareway
