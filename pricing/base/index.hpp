#pragma once

#include <compare>
#include <cstdint>

namespace fareway {

/// Position of a thing in the fleet's own array of such things; cheap to copy, impossible to mix up.
template <class Tag>
struct Index {
  std::uint32_t value{};
  constexpr auto operator<=>(const Index&) const = default;
};

using ModelIndex = Index<struct ModelTag>;
using DeploymentIndex = Index<struct DeploymentTag>;
using PoolIndex = Index<struct PoolTag>;
using ReplicaIndex = Index<struct ReplicaTag>;
using ClassIndex = Index<struct ClassTag>;
using TenantIndex = Index<struct TenantTag>;

}  // namespace fareway
