#pragma once

#include <string>

#include <boost/system/result.hpp>

#include "placement/live_fleet.hpp"
#include "router/config/config.hpp"
#include "router/gateway/errors.hpp"
#include "router/gateway/shape.hpp"
#include "router/observe/decision_log.hpp"

namespace fareway {

/// A request as a client would send it, with its key by id instead of the secret.
struct DryRunRequest {
  std::string path{"/v1/chat/completions"};
  std::string key_id;         ///< empty: the first key of the configuration
  std::string service_class;  ///< as in x-fareway-class; empty: none named
  std::string session;        ///< as in x-session-id
  std::string body;
};

/// What would be decided for the request on the fleet as it is. Nothing is sent and nothing counted. The
/// record has no request id. A refusal says what a client would have been told.
boost::system::result<DecisionRecord, Refusal> dry_run(DryRunRequest request, const Config& config,
                                                       LiveFleet& fleet, ShapeReader& reader, TimePoint now,
                                                       WallTime wall_now);

}  // namespace fareway
