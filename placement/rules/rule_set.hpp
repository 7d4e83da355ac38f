#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/rules/rule.hpp"

namespace fareway {

/// Rules by position, one bit each.
using RuleMask = std::uint64_t;

/// The parts of a request that rules look at.
struct RuleSubject {
  ModelIndex model;
  ClassIndex service_class;
  TenantIndex tenant;
  Tokens prompt;
};

/// The operator's rules, compiled once: what matches a request is an AND of one mask a dimension, what they
/// say of a pool an AND with that pool's masks. Immutable; no call allocates.
///
/// A cap counts the requests that are in flight now; who owns the fleet keeps those counts, one a rule, by
/// `capped`.
class RuleSet {
 public:
  static constexpr std::size_t kMostRules = 64;

  RuleSet() = default;
  /// At most `kMostRules`; the numbers are those of the fleet that the rules' positions refer to.
  struct Sizes {
    std::size_t models{};
    std::size_t classes{};
    std::size_t tenants{};
    std::size_t pools{};
  };
  RuleSet(std::vector<Rule> rules, const Sizes& sizes);

  std::span<const Rule> rules() const { return rules_; }
  bool empty() const { return rules_.empty(); }

  /// Every rule that speaks of such a request at this time; 0 without rules.
  RuleMask matching(const RuleSubject& subject, WallTime now) const;

  /// The first rule, in the order they are given, that keeps a request with these matches out of the pool;
  /// nothing where none does. `in_flight`: requests counted by each rule's cap.
  std::optional<std::size_t> excluding(RuleMask matched, PoolIndex pool,
                                       std::span<const std::uint32_t> in_flight) const;
  /// The same without caps: whatever else is in flight.
  std::optional<std::size_t> always_excluding(RuleMask matched, PoolIndex pool) const;

  /// Dollars by which the pool is to look cheaper; zero or more.
  Usd preference(RuleMask matched, PoolIndex pool) const;
  /// The caps that count a request with these matches in this pool.
  RuleMask capped(RuleMask matched, PoolIndex pool) const;
  /// Every rule that speaks of the pool: requires, prefers, forbids or caps it.
  RuleMask speaking_of(PoolIndex pool) const { return pools_[pool.value].named; }

  /// Values of a dimension at which the matches may change: one for each interval, its first value.
  std::vector<Tokens> prompt_breaks() const;
  std::vector<std::uint32_t> minute_breaks() const;
  RuleMask matching_at(const RuleSubject& subject, std::uint32_t minute) const;

 private:
  /// Matches as a step function over one number: `mask` holds from `from` on.
  struct Step {
    std::int64_t from{};
    RuleMask mask{};
  };
  struct PoolMasks {
    RuleMask named{};
    RuleMask excluded{};  ///< forbids that name it, requires that do not
    RuleMask preferred{};
    RuleMask capped{};
  };
  using Matches = bool (*)(const Rule& rule, std::int64_t value);
  std::vector<Step> steps_over(std::vector<std::int64_t> breaks, Matches matches) const;
  static RuleMask at(const std::vector<Step>& steps, std::int64_t value);

  std::vector<Rule> rules_;
  std::vector<RuleMask> by_model_;
  std::vector<RuleMask> by_class_;
  std::vector<RuleMask> by_tenant_;
  std::vector<Step> by_prompt_;
  std::vector<Step> by_minute_;
  std::vector<PoolMasks> pools_;
};

}  // namespace fareway
