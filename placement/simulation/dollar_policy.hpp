#pragma once

#include <string>

#include "placement/baselines/policy.hpp"

namespace fareway::simulation {

/// Which dollars count: all of them, or all but one, to see what each is worth.
struct DollarTerms {
  bool gpu{true};
  bool own_miss{true};
  bool others_miss{true};
};

/// Fareway's own decision, the very function the gateway calls.
class DollarPolicy final : public PlacementPolicy {
 public:
  DollarPolicy() = default;
  DollarPolicy(std::string name, DollarTerms terms) : name_(std::move(name)), terms_(terms) {}

  std::string_view name() const override { return name_; }
  Verdict choose(const PlacementQuestion& question) override;

 private:
  std::string name_{"fareway"};
  DollarTerms terms_;
  DecisionScratch scratch_;
};

}  // namespace fareway::simulation
