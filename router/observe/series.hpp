#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/labels.h>

#include "pricing/base/units.hpp"

namespace fareway {

/// A gauge that is absent while its value is unknown: a stale or zero sample would be a claim nobody made.
class OptionalGauge {
 public:
  OptionalGauge(prometheus::Family<prometheus::Gauge>& family, prometheus::Labels labels)
      : family_(&family), labels_(std::move(labels)) {}

  template <class T>
  void set(const std::optional<T>& value) {
    if (value) {
      if (gauge_ == nullptr) gauge_ = &family_->Add(labels_);
      gauge_->Set(static_cast<double>(*value));
    } else if (gauge_ != nullptr) {
      family_->Remove(std::exchange(gauge_, nullptr));
    }
  }

 private:
  prometheus::Family<prometheus::Gauge>* family_;
  prometheus::Labels labels_;
  prometheus::Gauge* gauge_{nullptr};
};

/// A counter of dollars that follows an exact total kept elsewhere.
struct FollowedDollars {
  prometheus::Counter* counter;
  NanoUsd seen{};

  void follow(NanoUsd total) {
    counter->Increment(to_usd(total - seen).value);
    seen = total;
  }
};

/// A counter for each reason; reasons are literals in the source, so there are few.
class Reasons {
 public:
  Reasons(prometheus::Family<prometheus::Counter>& family, std::initializer_list<const char*> known)
      : family_(&family) {
    for (const char* reason : known) increment(reason, 0);  // known combinations start at 0
  }

  void increment(std::string_view reason, double by = 1) {
    const std::lock_guard lock(mutex_);
    auto found = counters_.find(reason);
    if (found == counters_.end()) {
      const std::string name(reason);
      found = counters_.emplace(name, &family_->Add({{"reason", name}})).first;
    }
    found->second->Increment(by);
  }

 private:
  prometheus::Family<prometheus::Counter>* family_;
  std::mutex mutex_;
  std::map<std::string, prometheus::Counter*, std::less<>> counters_;
};

}  // namespace fareway
