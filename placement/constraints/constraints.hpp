#pragma once

#include <span>
#include <string_view>

#include "placement/fleet.hpp"
#include "placement/request_shape.hpp"

namespace fareway {

/// A yes or no that no number of dollars can buy. `name` stands in decisions, metrics and error texts.
struct Constraint {
  std::string_view name;
  bool (*holds)(const RequestShape& request, const Fleet& fleet, const Replica& replica);
  /// The request can never be served on this replica, however the fleet's health changes.
  bool permanent;
};

/// All constraints in the order they are checked: the request's own first, the fleet's state last, so that
/// the name given is the most lasting reason.
std::span<const Constraint> constraints();

/// The first constraint that fails; nothing where the replica is feasible.
const Constraint* first_violated(const RequestShape& request, const Fleet& fleet, const Replica& replica);

}  // namespace fareway
