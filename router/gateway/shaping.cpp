#include "router/gateway/shaping.hpp"

#include <algorithm>
#include <cmath>

#include <xxhash.h>

namespace fareway {
namespace {

/// How far below its estimate a prompt is taken to lie at most: 97.7 % lie above.
constexpr double kSpreadsBelow = 2;

/// Hash of tenant and session id; never 0, which stands for no session.
std::uint64_t session_hash(TenantIndex tenant, std::string_view id) {
  if (id.empty()) return 0;
  return std::max<std::uint64_t>(1, XXH3_64bits_withSeed(id.data(), id.size(), tenant.value + 1ull));
}

}  // namespace

ClassIndex default_class(const Config& config, const ApiKey& key, Api api, ModelIndex model) {
  for (const ClassDefault& entry : config.class_defaults) {
    if (entry.applies(path_of(api), model) && key.allows(entry.service_class)) return entry.service_class;
  }
  return key.default_class;
}

RequestShape shape_of(const RecognisedRequest& request, const RequestFacts& facts, const LiveFleet& fleet,
                      WallTime arrived) {
  const AnswerKind answers{request.tenant, request.model, request.service_class};
  const PromptEstimate prompt = fleet.estimate_prompt(request.model, facts.content);
  RequestShape shape;
  shape.model = request.model;
  shape.service_class = request.service_class;
  shape.tenant = request.tenant;
  shape.content = facts.content;
  shape.prompt = prompt.tokens;
  shape.prompt_error = std::exp(kSpreadsBelow * prompt.spread) - 1;
  shape.output_limit = facts.output_limit;
  shape.expected_output =
      request.api == Api::kEmbeddings ? Tokens{0} : fleet.estimate_output(answers, facts.output_limit);
  shape.session = session_hash(request.tenant, request.session);
  shape.streamed = facts.stream;
  shape.rules = fleet.fleet().rules.matching({.model = request.model,
                                              .service_class = request.service_class,
                                              .tenant = request.tenant,
                                              .prompt = prompt.tokens},
                                             arrived);
  return shape;
}

std::uint64_t prefix_seed(TenantIndex tenant, ModelIndex model) {
  return (std::uint64_t{tenant.value} << 32u) | model.value;
}

}  // namespace fareway
