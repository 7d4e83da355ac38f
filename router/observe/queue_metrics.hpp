#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "placement/admission/admission_queue.hpp"
#include "router/observe/series.hpp"

namespace fareway {

/// Requests that wait for a replica: how many, how long, and how it ended. Any thread.
class QueueMetrics {
 public:
  QueueMetrics(prometheus::Registry& registry, const Fleet& fleet);

  /// One that no longer waits. `how` is a literal.
  void waited(ClassIndex service_class, Seconds time, std::string_view how_literal);
  void depth(ModelIndex model, ClassIndex service_class, const AdmissionQueue::Depth& depth);

 private:
  struct Series {
    prometheus::Gauge* requests;
    prometheus::Gauge* bytes;
  };

  std::size_t classes_;
  std::vector<Series> waiting_;                // by (model, class)
  std::vector<prometheus::Histogram*> waits_;  // by class
  std::unique_ptr<Reasons> left_;
};

}  // namespace fareway
