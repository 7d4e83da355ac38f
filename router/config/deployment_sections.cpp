#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "router/config/draft.hpp"
#include "router/config/quantity_text.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

constexpr std::int64_t kMostRanks = 1024;
constexpr std::int64_t kMostSeats = 100'000;
constexpr Bytes kMostWeights{1024 * 1024 * kGibibyte};
constexpr Bytes kDefaultReserve{8 * kGibibyte};

double to_gibibytes(Bytes size) {
  return static_cast<double>(size.value) / static_cast<double>(kGibibyte);
}

Checked<NumberFormat> number_format(const YamlNode& node) {
  const Checked<std::string> text = text_value(node);
  if (!text) return text.error();
  if (const auto format = parse_number_format(*text)) return *format;
  return Complaint{fmt::format("{} is none of bf16, fp8, fp8_fnuz, int4, mxfp4, nvfp4", in_quotes(*text))};
}

Parallelism read_parallelism(Section& deployment, const Model* model) {
  Parallelism degrees;
  auto section = deployment.section("parallelism");
  if (!section) return degrees;
  const auto degree = whole_number<std::uint32_t>(1, kMostRanks);
  section->read_into("tp", degree, degrees.tp);
  section->read_into("ep", degree, degrees.ep);
  section->read_into("dp", degree, degrees.dp);
  section->read_into("dcp", degree, degrees.dcp);
  if (degrees.devices() > kMostRanks) {
    section->report("dp", fmt::format("tp x dp is {} devices; at most {}", degrees.devices(), kMostRanks));
  }
  if (degrees.ep > 1 && degrees.devices() % degrees.ep != 0) {
    section->report("ep",
                    fmt::format("does not divide the replica's {} devices (tp x dp)", degrees.devices()));
  }
  if (model != nullptr && degrees.ep > 1 && model->experts == 0) {
    section->report("ep", fmt::format("{} has no experts to spread; leave ep out", model->name));
  }
  if (model != nullptr && degrees.dcp > 1 && degrees.tp % (degrees.dcp * model->kv_heads) != 0) {
    section->report("dcp",
                    fmt::format("splits copies of the KV cache, but tp {} over {} KV heads does not make {} "
                                "copies; lower dcp",
                                degrees.tp, model->kv_heads, degrees.dcp));
  }
  section->finish();
  return degrees;
}

struct Coefficient {
  std::string_view key;
  double SpeedProfile::* field;
  bool may_be_zero;  ///< not the floor and the prefill rate: nothing takes no time at all
};

constexpr std::array kCoefficients{Coefficient{"step_floor", &SpeedProfile::step_floor, false},
                                   Coefficient{"expert_weights", &SpeedProfile::expert_weights, true},
                                   Coefficient{"per_sequence", &SpeedProfile::per_sequence, true},
                                   Coefficient{"per_context_token", &SpeedProfile::per_context_token, true},
                                   Coefficient{"per_prompt_token", &SpeedProfile::per_prompt_token, false},
                                   Coefficient{"per_prompt_pair", &SpeedProfile::per_prompt_pair, true}};

struct Measured {
  double SpeedProfile::* field;
  Seconds time;
};

/// Measured coefficients, each in place of the roofline's.
std::vector<Measured> read_speed(Section& deployment) {
  std::vector<Measured> measured;
  auto section = deployment.section("speed");
  if (!section) return measured;
  for (const auto& [key, field, may_be_zero] : kCoefficients) {
    const auto time = section->optional(key, from_text(parse_seconds));
    if (time && time->count() <= 0 && !may_be_zero) section->report(key, "must be more than zero");
    if (time) measured.push_back({field, *time});
  }
  section->finish();
  return measured;
}

/// Refuses weights that leave no KV cache.
void check_fit(Section& section, const Deployment& deployment, const Device& device) {
  const Capacity& capacity = deployment.capacity;
  const std::string devices = fmt::format("{} x {}", deployment.parallelism.devices(), device.name);
  if (capacity.kv_pool.value < 0) {
    section.report("weights",
                   fmt::format("do not fit {}: {:.1f} GiB too much after the reserve; use more devices",
                               devices, to_gibibytes(-capacity.kv_pool)));
  } else if (capacity.longest_sequence().value < 1) {
    section.report("weights",
                   fmt::format("leave {:.1f} GiB of {} for KV cache, not enough for one sequence; use "
                               "more devices",
                               to_gibibytes(capacity.kv_pool), devices));
  }
}

/// `given`: the file's own limit, where it sets one.
Tokens context_limit_of(Section& section, const Deployment& deployment, const Model& model,
                        std::optional<Tokens> given) {
  const Tokens longest = deployment.capacity.longest_sequence();
  const Tokens most = std::min(model.context_limit, longest);
  if (given && *given > most) {
    section.report(
        "context_limit",
        fmt::format("is more than the {} tokens {}; lower it or leave it out", most.value,
                    longest < model.context_limit ? "that the KV pool holds" : "that the model allows"));
  }
  return given.value_or(most);
}

void check_format(Section& section, const Deployment& deployment, const Device& device) {
  if (deployment.format_support != FormatSupport::kWrong) return;
  section.report("format",
                 fmt::format("{} cannot run a {} checkpoint: it would compute wrong values; use another "
                             "checkpoint or device",
                             device.name, to_string(deployment.format)));
}

/// Capacity, speed and limits by arithmetic, once model and device are known to be sound.
void derive(Section& section, Deployment& deployment, const Model& model, const Device& device, Bytes reserve,
            std::optional<Tokens> context_limit) {
  deployment.format_support = format_support(device, deployment.format);
  check_format(section, deployment, device);
  deployment.capacity = capacity_of(model, device, deployment.parallelism,
                                    {.weights = deployment.weights, .reserve_per_device = reserve});
  check_fit(section, deployment, device);
  if (!section.ok()) return;
  deployment.context_limit = context_limit_of(section, deployment, model, context_limit);
  deployment.speed = roofline(model, device, deployment.parallelism, deployment.weights, deployment.format);
}

Deployment read_deployment(Section& section, ConfigDraft& draft) {
  const Fleet& fleet = draft.config.fleet;
  Deployment deployment;
  deployment.name = section.required("name", name_value);
  const auto model = section.demanded("model", draft.models);
  const auto device = section.demanded("device", draft.devices);
  const bool model_usable = model && draft.models.usable(*model);
  deployment.model = ModelIndex{model.value_or(0)};
  deployment.format = section.required("format", number_format);
  deployment.parallelism = read_parallelism(section, model_usable ? &fleet.models[*model] : nullptr);
  deployment.weights = section.required("weights", size_up_to(kMostWeights, "1024TiB"));
  Bytes reserve = kDefaultReserve;
  section.read_into("reserve_per_device", from_text(parse_bytes), reserve);
  const auto context_limit = section.optional("context_limit", tokens());
  section.read_into("seats", whole_number<std::uint32_t>(1, kMostSeats), deployment.seats);
  section.read_into("chunk_tokens", tokens(), deployment.chunk);
  const auto measured = read_speed(section);
  section.finish();
  if (section.ok() && model_usable && draft.devices.usable(*device)) {
    derive(section, deployment, fleet.models[*model], fleet.devices[*device], reserve, context_limit);
  }
  for (const auto& [field, time] : measured) deployment.speed.*field = time.count();
  draft.deployment_devices.push_back(device.value_or(0));
  return deployment;
}

}  // namespace

void read_deployments(Section& top, ConfigDraft& draft) {
  top.for_each_required("deployments", [&](Section& section) {
    Deployment deployment = read_deployment(section, draft);
    // A sound entry of an unsound model is not derived: it has no capacity that others could be checked
    // against.
    const bool derived = section.ok() && deployment.capacity.kv_per_token.value > 0;
    draft.deployments.define(section, "name", deployment.name, derived);
    draft.config.fleet.deployments.push_back(std::move(deployment));
  });
}

}  // namespace fareway
