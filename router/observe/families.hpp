#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace fareway {

// One family each, registered where it is first asked for. It lives as long as the registry.

inline prometheus::Family<prometheus::Counter>& counters(prometheus::Registry& registry, const char* name,
                                                         const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
inline prometheus::Family<prometheus::Gauge>& gauges(prometheus::Registry& registry, const char* name,
                                                     const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
inline prometheus::Family<prometheus::Histogram>& histograms(prometheus::Registry& registry, const char* name,
                                                             const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

/// Seconds, roughly geometric, from a warm prefill to beyond what the longest allowed request waits: a
/// quantile above the last bound reads as that bound.
inline const prometheus::Histogram::BucketBoundaries kTtftSeconds{
    0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 300, 600};

}  // namespace fareway
