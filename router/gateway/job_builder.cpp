#include "router/gateway/job_builder.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "router/gateway/shaping.hpp"

namespace fareway {

namespace {

/// What of the client's head goes on to the engine. Nothing that could carry its key.
constexpr std::array kForwarded{std::string_view("content-type"),      std::string_view("accept"),
                                std::string_view("traceparent"),       std::string_view("tracestate"),
                                std::string_view("user-agent"),        std::string_view("openai-beta"),
                                std::string_view("anthropic-version"), std::string_view("anthropic-beta")};

std::string forwarded_fields(const Fields& fields) {
  std::string lines;
  for (const std::string_view name : kForwarded) {
    if (const auto value = fields.find(name)) append_field(lines, name, *value);
  }
  if (!fields.find("content-type")) append_field(lines, "content-type", "application/json");
  return lines;
}

std::string hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4u) *digit = kDigits[value & 15u];
  return text;
}

/// The class the client names; nothing where it names none.
boost::system::result<std::optional<ClassIndex>, Refusal> asked_class(const LoopState& loop,
                                                                      const AcceptedRequest& request) {
  const auto name = request.head->fields.find("x-fareway-class");
  if (!name) return std::optional<ClassIndex>{};
  const auto found = loop.classes.find(*name);
  if (found == loop.classes.end()) return refusals::unknown_class(loop.parts.config.fleet.classes);
  if (!request.key->allows(found->second)) return refusals::class_not_permitted(*name);
  return std::optional(found->second);
}

}  // namespace

const ApiKey* authenticate(const KeyRing& keys, const Fields& fields) {
  if (const auto authorization = fields.find("authorization")) return keys.find(bearer_token(*authorization));
  return keys.find(fields.find("x-api-key").value_or(""));
}

bool may_use(const TenantRules& tenant, ModelIndex model) {
  return tenant.models.empty() ||
         std::find(tenant.models.begin(), tenant.models.end(), model) != tenant.models.end();
}

boost::system::result<Job, Refusal> build_job(LoopState& loop, AcceptedRequest request) {
  const auto asked = asked_class(loop, request);
  if (!asked) return asked.error();
  const auto read = loop.shapes.read(request.api, request.body);
  if (!read) return read.error();
  const RequestFacts& facts = *read;
  const TenantIndex tenant = request.key->tenant;
  const auto model = loop.models.find(facts.model);
  if (model == loop.models.end() || !may_use(loop.parts.config.fleet[tenant], model->second)) {
    return refusals::model_not_found(facts.model);
  }
  const std::string_view session = request.head->fields.find("x-session-id").value_or(facts.cache_key);
  const RecognisedRequest recognised{
      .api = request.api,
      .tenant = tenant,
      .model = model->second,
      .service_class =
          *asked ? **asked : default_class(loop.parts.config, *request.key, request.api, model->second),
      .session = session};
  Job job;
  job.shape = shape_of(recognised, facts, loop.parts.fleet, request.wall_arrived);
  job.shape.prefix = loop.shapes.prefix(prefix_seed(tenant, model->second));
  job.shape.tie_break = loop.random();
  job.session = session.empty() ? std::string{} : hex(job.shape.session);
  job.stream = facts.stream;
  job.splice = facts.ask_for_usage;
  job.request_id = std::move(request.request_id);
  job.api = request.api;
  job.key = request.key;
  job.arrived = request.arrived;
  job.wall_arrived = request.wall_arrived;
  job.forwarded = forwarded_fields(request.head->fields);
  job.client_http11 = request.head->http11;
  job.keep_alive = request.head->keep_alive;
  job.body = std::move(request.body);
  return job;
}

}  // namespace fareway
