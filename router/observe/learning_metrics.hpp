#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "placement/live_fleet.hpp"
#include "router/observe/decision_log.hpp"
#include "router/observe/series.hpp"

namespace fareway {

/// How predictions compare with what happened, so that their calibration can be plotted, and what was learned
/// of each replica's speed. Any thread may call `request_ended`, `fleet_changed` one at a time.
class LearningMetrics {
 public:
  LearningMetrics(prometheus::Registry& registry, const Fleet& fleet);

  /// One whole answer of which the record knows everything; others teach nothing.
  void request_ended(const DecisionRecord& record, const Fleet& fleet);
  void fleet_changed(const LiveFleet& fleet);

 private:
  /// Upper bounds of the predicted probability of a miss.
  static constexpr std::array kPredicted{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0};
  struct Outcomes {
    prometheus::Counter* met;
    prometheus::Counter* missed;
  };
  struct Ratios {
    prometheus::Histogram* ttft;
    prometheus::Histogram* tpot;
  };
  struct Speed {
    OptionalGauge prefill;
    OptionalGauge decode;
    prometheus::Gauge* slow;
  };

  std::array<Outcomes, kPredicted.size()> by_prediction_{};
  std::vector<Outcomes> by_class_;
  std::vector<Ratios> by_pool_;
  std::vector<Speed> by_replica_;
};

}  // namespace fareway
