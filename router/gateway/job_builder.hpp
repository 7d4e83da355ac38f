#pragma once

#include <string>

#include <boost/system/result.hpp>

#include "router/gateway/http_head.hpp"
#include "router/gateway/job.hpp"
#include "router/gateway/loop_state.hpp"

namespace fareway {

/// The key a request carries, or nothing: `Authorization: Bearer K`, else `x-api-key: K`.
const ApiKey* authenticate(const KeyRing& keys, const Fields& fields);

/// True where this tenant may ask for this model.
bool may_use(const TenantRules& tenant, ModelIndex model);

/// A request as it stands after its body is read.
struct AcceptedRequest {
  std::string request_id;
  Api api{Api::kChat};
  const ApiKey* key{nullptr};
  const RequestHead* head{nullptr};
  std::string body;
  TimePoint arrived;
  WallTime wall_arrived;
};

/// Resolves names, reads the body, estimates, and gathers what is to be forwarded; or says what is wrong.
boost::system::result<Job, Refusal> build_job(LoopState& loop, AcceptedRequest request);

}  // namespace fareway
