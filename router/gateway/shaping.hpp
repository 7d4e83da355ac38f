#pragma once

#include <cstdint>
#include <string_view>

#include "placement/live_fleet.hpp"
#include "placement/request_shape.hpp"
#include "router/config/config.hpp"
#include "router/gateway/api.hpp"
#include "router/gateway/shape.hpp"

namespace fareway {

/// The class of a request that names none: by path and model, else the key's default. A class the key may not
/// use is passed over.
ClassIndex default_class(const Config& config, const ApiKey& key, Api api, ModelIndex model);

/// Names of a request that were found in the configuration.
struct RecognisedRequest {
  Api api{Api::kChat};
  TenantIndex tenant;
  ModelIndex model;
  ClassIndex service_class;
  std::string_view session;  ///< the client's id; empty: none
};

/// What the decision needs of a request, estimates included; without the keys of its prefix and the tie
/// break.
RequestShape shape_of(const RecognisedRequest& request, const RequestFacts& facts, const LiveFleet& fleet,
                      WallTime arrived);

/// Starts the chain of a prompt's block keys, so that neither tenants nor models share any.
std::uint64_t prefix_seed(TenantIndex tenant, ModelIndex model);

}  // namespace fareway
