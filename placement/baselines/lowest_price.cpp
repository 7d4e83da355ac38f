#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// The cheapest pool that has a free seat, fewest requests within it: LiteLLM's `cost-based-routing`, which
/// takes the lowest listed price within limits.
class LowestPrice final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "lowest list price"; }

 private:
  static constexpr double kFull = 1e9;  // dollars an hour; a full replica is taken only when all are

  ReplicaIndex pick(const PlacementQuestion& question, std::span<const ReplicaIndex> feasible) override {
    return least(question, feasible, [&](ReplicaIndex index) {
      const Replica& replica = question.fleet[index];
      const auto requests = static_cast<double>(replica.in_flight.size());
      const double seats = question.fleet[replica.deployment].seats;
      const double price = to_usd_per_hour(question.fleet[replica.pool].per_device_hour).value;
      // Within one price the requests decide: a millionth of a dollar each, far below any step of price.
      return (requests >= seats ? kFull : price) + requests * 1e-6;
    });
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> lowest_price() {
  return std::make_unique<LowestPrice>();
}

}  // namespace fareway
