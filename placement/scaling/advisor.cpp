#include "placement/scaling/advisor.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "placement/baselines/policy.hpp"
#include "placement/constraints/constraints.hpp"

namespace fareway {
namespace {

bool is_in(const Fleet& fleet, const Replica& replica) {
  return violated_by_replica(fleet, replica) == Violation::kNone;
}

ReplicaUse use_of(const Fleet& fleet, const Replica& replica) {
  return {.in = is_in(fleet, replica),
          .per_second = to_usd_per_hour(fleet.group_rate(replica)) * Seconds{1},
          .throughput = typical_throughput(fleet[replica.deployment]),
          .in_flight = static_cast<std::uint32_t>(replica.in_flight.size()),
          .idle = std::nullopt};
}

/// What the scaler sees of one model: its replicas, and in every pool that has one a replica more.
struct ModelView {
  std::vector<ReplicaUse> uses;
  std::vector<std::pair<PoolIndex, std::optional<ReplicaIndex>>> places;
};

ModelView view_of(const Fleet& fleet, ModelIndex model) {
  ModelView view;
  std::vector<std::uint32_t> one_of_pool;
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const Replica& replica = fleet.replicas[i];
    if (fleet[replica.deployment].model != model) continue;
    view.uses.push_back(use_of(fleet, replica));
    view.places.emplace_back(replica.pool, ReplicaIndex{i});
    const bool new_pool = std::ranges::none_of(
        one_of_pool, [&](std::uint32_t other) { return fleet.replicas[other].pool == replica.pool; });
    if (new_pool) one_of_pool.push_back(i);
  }
  for (const std::uint32_t like : one_of_pool) {
    ReplicaUse more = use_of(fleet, fleet.replicas[like]);
    more.in = false;
    more.in_flight = 0;
    view.uses.push_back(more);
    view.places.emplace_back(fleet.replicas[like].pool, std::nullopt);
  }
  return view;
}

double per_hour(Usd per_second) {
  return per_second.value * 3600;
}

}  // namespace

struct ScalingAdvisor::ModelAdvice {
  std::unique_ptr<Scaler> scaler;
  std::optional<FleetAdvice> standing;
};

std::string advice_text(const FleetAdvice& advice, const Fleet& fleet) {
  const std::string& pool = fleet[advice.pool].name;
  const std::string misses = fmt::format("{} loses ${:.2f} an hour in misses", fleet[advice.model].name,
                                         per_hour(advice.misses_per_second));
  const double rate = per_hour(advice.rate_per_second);
  const std::string which = advice.replica ? fmt::format("{} (pool {})", fleet[*advice.replica].name, pool)
                                           : fmt::format("one more replica of pool {}", pool);
  if (advice.kind == ScalingAdvice::Kind::kLetGo)
    return fmt::format("let {} go: {}, and the replica costs ${:.2f}", which, misses, rate);
  return fmt::format("take {} in: {}, which it could save at most for ${:.2f}", which, misses, rate);
}

ScalingAdvisor::ScalingAdvisor(const Fleet& fleet) {
  InAndOutOptions options;
  for (const ServiceClass& objective : fleet.classes) {
    worth_.push_back(objective.miss_dollars(Seconds{1}));
    options.attainment = std::max(options.attainment, objective.attainment);
  }
  for (std::size_t i = 0; i < fleet.models.size(); ++i) models_.push_back({in_and_out(options), {}});
}
ScalingAdvisor::~ScalingAdvisor() = default;

void ScalingAdvisor::placed(ModelIndex model, ClassIndex service_class, const Score& score) {
  models_[model.value].scaler->placed(score.own_miss + score.others_miss, worth_[service_class.value]);
}

void ScalingAdvisor::missed(ModelIndex model, Usd worth) {
  models_[model.value].scaler->missed(worth);
}

void ScalingAdvisor::review(const Fleet& fleet, TimePoint now) {
  if (!began_) began_ = now;
  for (std::uint32_t i = 0; i < models_.size(); ++i) {
    ModelAdvice& model = models_[i];
    const ModelView view = view_of(fleet, {i});
    if (view.uses.empty()) continue;
    const auto advice = model.scaler->review(view.uses, now - *began_);
    if (auto& standing = model.standing) {
      const bool take_in = standing->kind == ScalingAdvice::Kind::kTakeIn;
      const bool followed = standing->replica && is_in(fleet, fleet[*standing->replica]) == take_in;
      if (followed || !model.scaler->still_holds(standing->kind, standing->rate_per_second)) standing.reset();
    }
    if (!advice) continue;
    const auto& [pool, replica] = view.places[advice->replica.value];
    const bool same = model.standing && model.standing->kind == advice->kind &&
                      model.standing->pool == pool && model.standing->replica == replica;
    model.standing = FleetAdvice{.kind = advice->kind,
                                 .model = {i},
                                 .pool = pool,
                                 .replica = replica,
                                 .gain_per_second = advice->gain_per_second,
                                 .rate_per_second = view.uses[advice->replica.value].per_second,
                                 .misses_per_second = model.scaler->misses_per_second(),
                                 .since = same ? model.standing->since : now};
  }
}

std::vector<FleetAdvice> ScalingAdvisor::standing() const {
  std::vector<FleetAdvice> all;
  for (const ModelAdvice& model : models_)
    if (model.standing) all.push_back(*model.standing);
  return all;
}

Usd ScalingAdvisor::misses_per_second(ModelIndex model) const {
  return models_[model.value].scaler->misses_per_second();
}

}  // namespace fareway
