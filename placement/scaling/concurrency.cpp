#include <algorithm>
#include <cmath>

#include "placement/scaling/scaler.hpp"

namespace fareway {
namespace {

constexpr double kIdleSeconds = 600;
constexpr double kScaleInSeconds = 300;

struct Totals {
  double in{0};
  double in_flight{0};
};

Totals totals(std::span<const ReplicaUse> fleet) {
  Totals sum;
  for (const ReplicaUse& replica : fleet) {
    sum.in += replica.in ? 1 : 0;
    sum.in_flight += replica.in ? replica.in_flight : 0;
  }
  return sum;
}

class IdleRelease final : public Scaler {
 public:
  explicit IdleRelease(double requests_each) : requests_each_(requests_each) {}

  std::string_view name() const override { return "idle release"; }
  void placed(Usd, Usd) override {}

  std::optional<ScalingAdvice> review(std::span<const ReplicaUse> fleet, Seconds) override {
    const Totals now = totals(fleet);
    if (const auto best = best_outside(fleet); best && now.in_flight > requests_each_ * now.in)
      return ScalingAdvice{ScalingAdvice::Kind::kTakeIn, *best, {}};
    if (now.in <= 1) return std::nullopt;
    for (std::uint32_t i = 0; i < fleet.size(); ++i) {
      const ReplicaUse& use = fleet[i];
      if (use.in && use.idle && use.idle->count() >= kIdleSeconds)
        return ScalingAdvice{ScalingAdvice::Kind::kLetGo, ReplicaIndex{i}, use.per_second};
    }
    return std::nullopt;
  }

 private:
  double requests_each_;
};

class ConcurrencyAutoscaler final : public Scaler {
 public:
  explicit ConcurrencyAutoscaler(double requests_each) : requests_each_(requests_each) {}

  std::string_view name() const override { return "concurrency autoscaler"; }
  void placed(Usd, Usd) override {}

  std::optional<ScalingAdvice> review(std::span<const ReplicaUse> fleet, Seconds now) override {
    const Totals current = totals(fleet);
    const double wanted = std::max(1.0, std::ceil(current.in_flight / requests_each_));
    if (wanted >= current.in) below_since_ = now;
    if (wanted > current.in) {
      if (const auto best = best_outside(fleet))
        return ScalingAdvice{ScalingAdvice::Kind::kTakeIn, *best, {}};
    }
    const auto worst = worst_inside(fleet);
    if (!worst || now - below_since_ < Seconds{kScaleInSeconds}) return std::nullopt;
    below_since_ = now;
    return ScalingAdvice{ScalingAdvice::Kind::kLetGo, *worst, fleet[worst->value].per_second};
  }

 private:
  double requests_each_;
  Seconds below_since_{0};
};

}  // namespace

std::unique_ptr<Scaler> idle_release(double requests_each) {
  return std::make_unique<IdleRelease>(requests_each);
}

std::unique_ptr<Scaler> concurrency_autoscaler(double requests_each) {
  return std::make_unique<ConcurrencyAutoscaler>(requests_each);
}

}  // namespace fareway
