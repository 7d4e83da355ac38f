#include <algorithm>
#include <cmath>
#include <iostream>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "placement/catalogue/catalogue.hpp"
#include "placement/catalogue/nearest_name.hpp"
#include "placement/model/capacity_lines.hpp"
#include "placement/model/capacity_question.hpp"
#include "router/cli/commands.hpp"
#include "router/config/config.hpp"

namespace fareway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostDevices = 1024;
constexpr double kMostReserveGib = 65'536;

[[noreturn]] void refuse(std::string_view option, const std::string& what) {
  throw UsageError(fmt::format("--{}: {}", option, what));
}

/// `did you mean "MI300X"?` or the whole list.
template <class Thing>
std::string remedy(const std::optional<std::string>& nearest, std::span<const Thing> all) {
  if (nearest) return fmt::format("did you mean \"{}\"?", *nearest);
  std::string names;
  for (const Thing& thing : all) names += (names.empty() ? "" : ", ") + thing.name;
  return "known: " + names;
}

/// What may be asked about: the catalogue, and what a configuration file adds to it or changes.
struct Known {
  std::span<const Model> models;  ///< of the file; they come before the catalogue's
  std::span<const Device> devices;
};

/// The thing of that name, without regard to case; null where there is none.
template <class Thing>
const Thing* alike(std::span<const Thing> all, std::string_view name) {
  const auto found =
      std::ranges::find_if(all, [&](const Thing& thing) { return same_name(thing.name, name); });
  return found == all.end() ? nullptr : &*found;
}

const Model& model_named(const std::string& name, const Known& known) {
  if (const Model* model = alike(known.models, name)) return *model;
  if (const Model* model = find_model(name)) return *model;
  refuse("model", fmt::format("no model is named \"{}\"; {}", name,
                              remedy(nearest_model_name(name), catalogue_models())));
}

const Device& device_named(const std::string& name, const Known& known) {
  if (const Device* device = alike(known.devices, name)) return *device;
  const Device* device = find_device(name);
  if (device != nullptr) return *alike(known.devices, device->name);
  refuse("device", fmt::format("no device is named \"{}\"; {}", name,
                               remedy(nearest_device_name(name), known.devices)));
}

/// The publisher's own checkpoint, or the one of the format asked for.
Checkpoint checkpoint_of(const Model& model, const std::string& format) {
  if (model.checkpoints.empty())
    refuse("model",
           fmt::format("the size of no checkpoint of {} is known; give its entry weights", model.name));
  if (format.empty()) return model.checkpoints.front();
  std::string known;
  for (const Checkpoint& checkpoint : model.checkpoints)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", to_string(checkpoint.format));
  const auto parsed = parse_number_format(format);
  if (const Checkpoint* found = parsed ? model.checkpoint(*parsed) : nullptr) return *found;
  refuse("format", fmt::format("no {} checkpoint of {} is known; known: {}", format, model.name, known));
}

std::uint32_t degree(std::string_view option, std::int64_t value) {
  if (value < 1 || value > kMostDevices)
    refuse(option, fmt::format("{} is not a number from 1 to {}", value, kMostDevices));
  return static_cast<std::uint32_t>(value);
}

/// `--devices` alone means a TP group of so many; with degrees, both must agree.
Parallelism parallelism_of(const CapacityOptions& options) {
  Parallelism degrees{.tp = degree("tp", options.tp.value_or(1)),
                      .pp = degree("pp", options.pp),
                      .ep = degree("ep", options.ep),
                      .dp = degree("dp", options.dp),
                      .dcp = degree("dcp", options.dcp)};
  if (static_cast<std::int64_t>(degrees.tp) * degrees.pp * degrees.dp > kMostDevices)
    refuse("tp", fmt::format("tp x pp x dp is more than {} devices", kMostDevices));
  if (!options.devices) return degrees;
  const std::uint32_t devices = degree("devices", *options.devices);
  if (!options.tp && devices % (degrees.pp * degrees.dp) == 0)
    degrees.tp = devices / (degrees.pp * degrees.dp);
  if (degrees.devices() != devices)
    refuse("devices", fmt::format("{} devices are not tp {} x pp {} x dp {} = {}", devices, degrees.tp,
                                  degrees.pp, degrees.dp, degrees.devices()));
  return degrees;
}

Bytes reserve_of(const CapacityOptions& options, const Device& device) {
  if (!options.reserve_gib) return kDefaultReservePerDevice;
  const double gib = *options.reserve_gib;
  if (!std::isfinite(gib) || gib < 0 || gib > kMostReserveGib)
    refuse("reserve-gib", fmt::format("{} is not a size from 0 GiB up", gib));
  const Bytes reserve{std::llround(gib * static_cast<double>(kGibibyte))};
  if (reserve >= device.hbm)
    refuse("reserve-gib",
           fmt::format("{} GiB leave nothing of the {} of {}", gib, size_text(device.hbm), device.name));
  return reserve;
}

EngineBuild engine_of(const CapacityOptions& options) {
  EngineBuild engine{.name = options.engine};
  if (options.engine_version.empty()) return engine;
  engine.version = parse_engine_version(options.engine_version);
  if (!engine.version)
    refuse("engine-version", fmt::format("\"{}\" is no version such as 0.10.1", options.engine_version));
  if (engine.name.empty()) refuse("engine-version", "needs --engine");
  return engine;
}

CapacityQuestion question_of(const CapacityOptions& options, const Known& known) {
  const Model& model = model_named(options.model, known);
  const Device& device = device_named(options.device, known);
  const auto kv_format = parse_kv_format(options.kv_dtype);
  if (!kv_format) refuse("kv-dtype", fmt::format("\"{}\" is neither bf16 nor fp8", options.kv_dtype));
  CapacityQuestion question{.model = &model,
                            .device = &device,
                            .checkpoint = checkpoint_of(model, options.format),
                            .parallelism = parallelism_of(options),
                            .reserve_per_device = reserve_of(options, device),
                            .utilisation = options.utilisation,
                            .kv_format = *kv_format,
                            .context = {options.context},
                            .engine = engine_of(options)};
  std::string problems;
  for (const QuestionProblem& problem : question_problems(question))
    problems += fmt::format("{}--{}: {}", problems.empty() ? "" : "\n", problem.key, problem.what);
  if (!problems.empty()) throw UsageError(problems);
  return question;
}

Json to_json(const CapacityQuestion& question, const CapacityAnswer& answer) {
  Json lines = Json::array();
  for (const ArithmeticLine& line : answer.lines)
    lines.push_back(
        {{"label", line.label}, {"value", line.value}, {"unit", line.unit}, {"formula", line.formula}});
  Json json{{"model", question.model->name},
            {"device", question.device->name},
            {"devices", question.parallelism.devices()},
            {"fits", answer.fits()},
            {"sessions", answer.sessions},
            {"bytes_per_session", answer.bytes_per_session.value},
            {"kv_pool_bytes", answer.capacity.kv_pool.value},
            {"longest_context_tokens", answer.longest_context.value},
            {"missing_bytes", answer.missing ? Json(answer.missing->value) : Json(nullptr)},
            {"would_fit", answer.remedies},
            {"format",
             {{"checkpoint", to_string(question.checkpoint.format)},
              {"support", to_string(answer.format.support)},
              {"reason", answer.format.reason},
              {"slowdown", answer.format.slowdown}}}};
  json["lines"] = std::move(lines);
  return json;
}

std::string value_text(const ArithmeticLine& line) {
  if (line.unit == "B") return size_text({line.value});
  return count_text(line.value) + " " + line.unit;
}

void print_text(const CapacityQuestion& question, const CapacityAnswer& answer) {
  std::cout << fmt::format("{} on {} x {}, {} tokens a session\n\n", question.model->name,
                           question.parallelism.devices(), question.device->name,
                           count_text(question.context.value));
  for (const ArithmeticLine& line : answer.lines)
    std::cout << fmt::format("  {:<22}{:>18}   {}\n", line.label, value_text(line), line.formula);
  std::cout << fmt::format("\nformat: {} is {}: {}", to_string(question.checkpoint.format),
                           to_string(answer.format.support), answer.format.reason);
  if (answer.format.slowdown > 1)
    std::cout << fmt::format("; weights take {:.2f} times as long", answer.format.slowdown);
  std::cout << '\n';
  if (answer.missing)
    std::cout << fmt::format("does not fit: {} are missing for one session\n", size_text(*answer.missing));
  for (const std::string& remedy : answer.remedies) std::cout << "would fit: " << remedy << '\n';
}

}  // namespace

int print_capacity(const CapacityOptions& options) {
  const Fleet fleet = options.config_file.empty() ? Fleet{} : load_config(options.config_file).fleet;
  const Known known{.models = fleet.models,
                    .devices = fleet.devices.empty() ? catalogue_devices() : std::span{fleet.devices}};
  const CapacityQuestion question = question_of(options, known);
  const CapacityAnswer found = answer(question, known.devices);
  if (options.json) {
    std::cout << to_json(question, found).dump(2) << '\n';
  } else {
    print_text(question, found);
  }
  return 0;
}

}  // namespace fareway
