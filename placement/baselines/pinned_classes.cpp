#include <algorithm>

#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// Classes pinned to pools by hand, as operators do with labels and separate deployments: the pools are
/// ranked by price and given out in order of what a miss is worth, one to each class, those left over to the
/// dearest. Fewest requests within a class's pools; any replica when none of its own may be chosen.
class PinnedClasses final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "classes pinned to pools"; }

 private:
  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    const Fleet& fleet = question.fleet;
    const double worth = fleet[question.shape.service_class].miss.value;
    const auto dearer_classes =
        std::ranges::count_if(fleet.classes, [worth](const ServiceClass& c) { return c.miss.value > worth; });
    const auto extra_pools = std::ssize(fleet.pools) - std::ssize(fleet.classes);
    own_.clear();
    for (const ReplicaIndex replica : feasible) {
      const NanoUsdPerHour price = fleet[fleet[replica].pool].per_device_hour;
      const auto dearer_pools =
          std::ranges::count_if(fleet.pools, [price](const Pool& p) { return p.per_device_hour > price; });
      if (std::max<std::ptrdiff_t>(dearer_pools - extra_pools, 0) == dearer_classes) own_.push_back(replica);
    }
    const auto requests = [&](ReplicaIndex replica) {
      return static_cast<double>(fleet[replica].in_flight.size());
    };
    return least(question, own_.empty() ? feasible : std::span<const ReplicaIndex>(own_), requests);
  }

  std::vector<ReplicaIndex> own_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> pinned_classes() {
  return std::make_unique<PinnedClasses>();
}

}  // namespace fareway
