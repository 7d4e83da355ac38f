#include "router/observe/queue_metrics.hpp"

#include <initializer_list>

#include "router/observe/families.hpp"

namespace fareway {

QueueMetrics::QueueMetrics(prometheus::Registry& registry, const Fleet& fleet)
    : classes_(fleet.classes.size()) {
  auto& requests = gauges(registry, "fareway_queue_requests", "Requests that wait for a replica.");
  auto& bytes = gauges(registry, "fareway_queue_bytes", "Memory that the bodies of waiting requests take.");
  auto& waits = histograms(registry, "fareway_queue_wait_seconds",
                           "How long requests waited, however that ended; only those that did wait.");
  for (const Model& model : fleet.models) {
    for (const ServiceClass& service_class : fleet.classes) {
      const prometheus::Labels labels{{"model", model.name}, {"class", service_class.name}};
      waiting_.push_back({&requests.Add(labels), &bytes.Add(labels)});
    }
  }
  for (const ServiceClass& service_class : fleet.classes)
    waits_.push_back(&waits.Add({{"class", service_class.name}}, kTtftSeconds));
  left_ = std::make_unique<Reasons>(
      counters(registry, "fareway_queue_left_total", "Requests that no longer wait, by how that ended."),
      std::initializer_list<const char*>{"placed", "client_closed", "shutting_down", "waited_too_long",
                                         "displaced"});
}

void QueueMetrics::waited(ClassIndex service_class, Seconds time, std::string_view how_literal) {
  waits_[service_class.value]->Observe(time.count());
  left_->increment(how_literal);
}

void QueueMetrics::depth(ModelIndex model, ClassIndex service_class, const AdmissionQueue::Depth& depth) {
  const Series& series = waiting_[model.value * classes_ + service_class.value];
  series.requests->Set(static_cast<double>(depth.requests));
  series.bytes->Set(static_cast<double>(depth.bytes));
}

}  // namespace fareway
