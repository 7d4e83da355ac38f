#pragma once

#include <cstddef>
#include <vector>

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "placement/fleet.hpp"
#include "placement/scaling/advisor.hpp"

namespace fareway {

/// Which replicas should exist, as advised. One thread.
class ScalingMetrics {
 public:
  ScalingMetrics(prometheus::Registry& registry, const Fleet& fleet);

  void advised(const ScalingAdvisor& advisor, const Fleet& fleet);

 private:
  /// What is advised of one model's replicas in one pool.
  struct Series {
    prometheus::Gauge* take_in{nullptr};
    prometheus::Gauge* let_go{nullptr};
    prometheus::Gauge* gain{nullptr};
  };

  std::size_t pools_;
  std::vector<Series> advice_;              // by (model, pool); gauges where the pool runs the model
  std::vector<prometheus::Gauge*> misses_;  // by model
};

}  // namespace fareway
