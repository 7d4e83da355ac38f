#include <algorithm>
#include <cmath>

#include "placement/scaling/scaler.hpp"

namespace fareway {
namespace {

constexpr double kCalmShare = 0.5;  // of what the objective allows; below it a replica may go
// The correction of expected misses stays within these, and begins at 1: this share of what the objective
// allows is added to both sides of the ratio.
constexpr double kLeastCorrection = 0.2;
constexpr double kMostCorrection = 2;
constexpr double kPriorShare = 0.1;

struct MovingAverage {
  double mean{0};
  void add(double value, double passed, double window) {
    mean += (1 - std::exp(-passed / window)) * (value - mean);
  }
};

/// M is the moving average of expected miss dollars a second over the whole fleet. One more replica could
/// save at most M and costs its rate, so one is taken in when M exceeds the rate of the one that generates
/// most for its dollars; the one that generates least may go when M is well below its rate.
///
/// Where misses are cheap, dollars alone would sell them: a fleet at 2 requests a second may miss every tenth
/// before a replica pays. So the share of requests' worth that is expected to be missed counts as well, over
/// minutes: above what the objective allows one is taken in, above half of that none goes.
///
/// Expected misses are sums over bystanders, each with the spread of its prediction, and err high by a factor
/// that depends on the traffic. What was really missed says which: the ratio over half an hour corrects them.
///
/// A replica that had to come back soon shows that the calm was too short, and the next calm must be twice as
/// long.
class InAndOut final : public Scaler {
 public:
  explicit InAndOut(const InAndOutOptions& options)
      : options_(options), back_off_(options.back_off_seconds) {}

  std::string_view name() const override { return "in and out"; }
  bool wants_dollars() const override { return true; }
  void placed(Usd expected_misses, Usd worth) override {
    since_review_ += expected_misses;
    worth_since_review_ += worth;
  }

  void missed(Usd worth) override { missed_since_review_ += worth; }

  std::optional<ScalingAdvice> review(std::span<const ReplicaUse> fleet, Seconds now) override {
    average(now);
    const auto best = best_outside(fleet);
    const double allowed = (1 - options_.attainment) * worth_.mean;
    const double misses = correction() * misses_.mean;
    const double missed_worth = correction() * missed_worth_.mean;
    if (best &&
        (misses > options_.take_in_share * fleet[best->value].per_second.value || missed_worth > allowed)) {
      if (let_go_ && now - *let_go_ < Seconds{options_.regret_seconds})
        back_off_ = std::min(2 * back_off_, options_.longest_back_off);
      calm_since_ = now;
      // The averages know nothing yet of the replica that comes, and must not ask for another at once.
      const Usd gain{misses - fleet[best->value].per_second.value};
      misses_.mean /= 2;
      missed_worth_.mean /= 2;
      return ScalingAdvice{ScalingAdvice::Kind::kTakeIn, *best, gain};
    }
    const auto worst = worst_inside(fleet);
    if (!worst || missed_worth > kCalmShare * allowed ||
        misses > options_.let_go_share * fleet[worst->value].per_second.value) {
      calm_since_ = now;
      return std::nullopt;
    }
    if (now - calm_since_ < Seconds{back_off_}) return std::nullopt;
    calm_since_ = now;
    let_go_ = now;
    return ScalingAdvice{ScalingAdvice::Kind::kLetGo, *worst, fleet[worst->value].per_second};
  }

  Usd misses_per_second() const override { return {correction() * misses_.mean}; }

  /// Half of what made one be taken in is too little to go on asking for it; letting go is right as long as
  /// it would be begun.
  bool still_holds(ScalingAdvice::Kind kind, Usd rate) const override {
    const double allowed = (1 - options_.attainment) * worth_.mean;
    const double misses = correction() * misses_.mean;
    const double missed_worth = correction() * missed_worth_.mean;
    if (kind == ScalingAdvice::Kind::kTakeIn)
      return misses > options_.take_in_share * rate.value / 2 || missed_worth > allowed / 2;
    return missed_worth <= kCalmShare * allowed && misses <= options_.let_go_share * rate.value;
  }

 private:
  void average(Seconds now) {
    const double passed = (now - reviewed_).count();
    if (passed <= 0) return;
    misses_.add(since_review_.value / passed, passed, options_.window_seconds);
    missed_worth_.add(since_review_.value / passed, passed, options_.attainment_window);
    worth_.add(worth_since_review_.value / passed, passed, options_.attainment_window);
    expected_.add(since_review_.value / passed, passed, options_.learning_window);
    seen_.add(missed_since_review_.value / passed, passed, options_.learning_window);
    since_review_ = worth_since_review_ = missed_since_review_ = {};
    reviewed_ = now;
  }

  /// Misses seen over misses expected.
  double correction() const {
    const double prior = kPriorShare * (1 - options_.attainment) * worth_.mean;
    if (expected_.mean + prior <= 0) return 1;
    return std::clamp((seen_.mean + prior) / (expected_.mean + prior), kLeastCorrection, kMostCorrection);
  }

  InAndOutOptions options_;
  double back_off_;
  MovingAverage misses_;        // M, dollars a second
  MovingAverage missed_worth_;  // the same over minutes
  MovingAverage worth_;         // what missing every request would cost, dollars a second
  MovingAverage expected_;      // as misses_, and what was really missed, over half an hour
  MovingAverage seen_;
  Usd since_review_;
  Usd worth_since_review_;
  Usd missed_since_review_;
  Seconds reviewed_{0};
  Seconds calm_since_{0};
  std::optional<Seconds> let_go_;
};

}  // namespace

std::unique_ptr<Scaler> in_and_out(const InAndOutOptions& options) {
  return std::make_unique<InAndOut>(options);
}

}  // namespace fareway
