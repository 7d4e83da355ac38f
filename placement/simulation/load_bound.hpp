#pragma once

#include <span>

#include "placement/simulation/reference_fleet.hpp"
#include "placement/simulation/workload.hpp"

namespace fareway::simulation {

/// Requests a second that no placement can exceed while `target` of them meet their objectives: the optimum
/// of a linear program in which requests are a fluid.
///
/// Requests are grouped into kinds by class and length. A replica spends its time in modes; mode (b, L)
/// decodes b sequences at once at a TPOT of at most L. A request of kind i then takes
///     P_i + o_i·((c0 + c1·hit(b))/b + c2 + c3·context_i)
/// seconds of the replica, may use the modes whose L its objective allows and the pools that prefill it
/// within its TTFT target, and the tokens of a mode must flow at b/L or faster. Whole prefixes are cached
/// wherever they were seen before. Left out, all in the bound's favour: queueing, bursts, memory, the end of
/// each answer.
double load_bound(std::span<const Arrival> arrivals, const ReferenceScene& scene, double target);

}  // namespace fareway::simulation
