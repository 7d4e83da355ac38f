#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "placement/model/capacity_question.hpp"
#include "placement/model/format_support.hpp"
#include "placement/speed/speed_estimate.hpp"
#include "router/config/draft.hpp"
#include "router/config/quantity_text.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

constexpr std::int64_t kMostRanks = 1024;
constexpr std::int64_t kMostSeats = 100'000;
constexpr Bytes kMostWeights{1024 * 1024 * kGibibyte};

double to_gibibytes(Bytes size) {
  return static_cast<double>(size.value) / static_cast<double>(kGibibyte);
}

Checked<NumberFormat> number_format(const YamlNode& node) {
  const Checked<std::string> text = text_value(node);
  if (!text) return text.error();
  if (const auto format = parse_number_format(*text)) return *format;
  return Complaint{fmt::format("{} is none of bf16, fp8, fp8_fnuz, int4, mxfp4, nvfp4", in_quotes(*text))};
}

Checked<KvFormat> kv_format(const YamlNode& node) {
  const Checked<std::string> text = text_value(node);
  if (!text) return text.error();
  if (const auto format = parse_kv_format(*text)) return *format;
  return Complaint{fmt::format("{} is neither bf16 nor fp8", in_quotes(*text))};
}

Checked<EngineVersion> engine_version(const YamlNode& node) {
  const Checked<std::string> text = text_value(node);
  if (!text) return text.error();
  if (const auto version = parse_engine_version(*text)) return *version;
  return Complaint{fmt::format("{} is no version such as \"0.10.1\"", in_quotes(*text))};
}

EngineBuild read_engine(Section& deployment) {
  EngineBuild engine;
  deployment.read_into("engine", name_value, engine.name);
  engine.version = deployment.optional("engine_version", engine_version);
  if (engine.version && engine.name.empty())
    deployment.report("engine_version", "says nothing without engine; give both");
  return engine;
}

Parallelism read_parallelism(Section& deployment, const Model* model) {
  Parallelism degrees;
  auto section = deployment.section("parallelism");
  if (!section) return degrees;
  const auto degree = whole_number<std::uint32_t>(1, kMostRanks);
  section->read_into("tp", degree, degrees.tp);
  section->read_into("pp", degree, degrees.pp);
  section->read_into("ep", degree, degrees.ep);
  section->read_into("dp", degree, degrees.dp);
  section->read_into("dcp", degree, degrees.dcp);
  if (degrees.devices() > kMostRanks) {
    section->report("dp",
                    fmt::format("tp x pp x dp is {} devices; at most {}", degrees.devices(), kMostRanks));
  } else if (model != nullptr) {
    for (QuestionProblem& problem : parallelism_problems(*model, degrees))
      section->report(problem.key, std::move(problem.what));
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
  section.report("format", fmt::format("{} cannot run a {} checkpoint: {}", device.name,
                                       to_string(deployment.format), deployment.format_reason));
}

/// What a deployment's section says of memory and format, as far as it says it.
struct Given {
  std::optional<NumberFormat> format;
  std::optional<Bytes> weights;
  Bytes reserve{kDefaultReservePerDevice};
  double utilisation{1.0};
  std::optional<Tokens> context_limit;
  EngineBuild engine;
  std::vector<Measured> measured;
};

/// The checkpoint that is meant: of the format given, else the publisher's own. Its size is the file's or the
/// catalogue's.
std::optional<Checkpoint> checkpoint_of(Section& section, const Model& model, const Given& given) {
  const Checkpoint* known = nullptr;
  if (given.format) {
    known = model.checkpoint(*given.format);
  } else if (!model.checkpoints.empty()) {
    known = &model.checkpoints.front();
  } else {
    section.report("format", fmt::format("is missing, and no checkpoint of {} is known", model.name));
    return std::nullopt;
  }
  if (known != nullptr) return *known;
  if (given.weights)
    return Checkpoint{.format = *given.format, .also = std::nullopt, .weights = *given.weights};
  section.report("weights", fmt::format("is missing, and the size of {} in {} is not known", model.name,
                                        to_string(*given.format)));
  return std::nullopt;
}

/// Capacity, speed and limits by arithmetic, once model and device are known to be sound.
void derive(Section& section, Deployment& deployment, const Model& model, const Device& device,
            const Given& given) {
  const auto checkpoint = checkpoint_of(section, model, given);
  if (!checkpoint) return;
  FormatVerdict verdict = format_verdict(device, *checkpoint, given.engine);
  deployment.format = checkpoint->format;
  deployment.format_support = verdict.support;
  deployment.format_reason = std::move(verdict.reason);
  deployment.format_slowdown = verdict.slowdown;
  deployment.weights =
      given.weights.value_or(weights_in_group(model, checkpoint->weights, deployment.parallelism));
  check_format(section, deployment, device);
  deployment.capacity = capacity_of(model, device, deployment.parallelism,
                                    {.weights = deployment.weights,
                                     .reserve_per_device = given.reserve,
                                     .utilisation = given.utilisation,
                                     .kv_format = deployment.kv_format});
  check_fit(section, deployment, device);
  if (!section.ok()) return;
  deployment.context_limit = context_limit_of(section, deployment, model, given.context_limit);
  const SpeedEstimate estimate = estimate_speed({.model = model,
                                                 .device = device,
                                                 .parallelism = deployment.parallelism,
                                                 .format = deployment.format,
                                                 .kv_format = deployment.kv_format,
                                                 .weights = deployment.weights});
  deployment.speed =
      estimate.format_in_points ? estimate.profile : estimate.profile.slowed(deployment.format_slowdown);
  deployment.speed_basis = estimate.basis;
}

/// Puts the operator's own coefficients in place of the estimate's. Decode speed is measured once the floor
/// of a step is; how far off it may be, nobody has said.
void use_measured(Deployment& deployment, const std::vector<Measured>& measured) {
  for (const auto& [field, time] : measured) {
    deployment.speed.*field = time.count();
    if (field == &SpeedProfile::step_floor)
      deployment.speed_basis = {.tier = SpeedTier::kMeasured, .text = "coefficients of the configuration"};
  }
}

Deployment read_deployment(Section& section, ConfigDraft& draft) {
  Deployment deployment;
  deployment.name = section.required("name", name_value);
  const auto model = section.demanded("model", model_named(draft));
  const auto device = section.demanded("device", device_named(draft));
  const Fleet& fleet = draft.config.fleet;
  const bool model_usable = model && draft.models.usable(*model);
  deployment.model = ModelIndex{model.value_or(0)};
  Given given;
  given.format = section.optional("format", number_format);
  deployment.parallelism = read_parallelism(section, model_usable ? &fleet.models[*model] : nullptr);
  given.weights = section.optional("weights", size_up_to(kMostWeights, "1024TiB"));
  section.read_into("reserve_per_device", from_text(parse_bytes), given.reserve);
  section.read_into("memory_utilisation", positive_up_to(decimal_value, 1.0, "1"), given.utilisation);
  section.read_into("kv_dtype", kv_format, deployment.kv_format);
  given.engine = read_engine(section);
  given.context_limit = section.optional("context_limit", tokens());
  section.read_into("seats", whole_number<std::uint32_t>(1, kMostSeats), deployment.seats);
  section.read_into("chunk_tokens", tokens(), deployment.chunk);
  given.measured = read_speed(section);
  section.finish();
  if (section.ok() && model_usable && draft.devices.usable(*device))
    derive(section, deployment, fleet.models[*model], fleet.devices[*device], given);
  use_measured(deployment, given.measured);
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
