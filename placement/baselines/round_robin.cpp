#include "placement/baselines/policy.hpp"

namespace fareway {
namespace {

/// One replica after the other, whatever they cost or do: the default of nginx and of most gateways
/// (ngx_http_upstream_module, without weights).
class RoundRobin final : public BaselinePolicy {
 public:
  std::string_view name() const override { return "round robin"; }

 private:
  ReplicaIndex pick(const PlacementQuestion&, std::span<const ReplicaIndex> feasible) override {
    return feasible[next_++ % feasible.size()];
  }

  std::size_t next_{0};
};

}  // namespace

std::unique_ptr<PlacementPolicy> round_robin() {
  return std::make_unique<RoundRobin>();
}

}  // namespace fareway
