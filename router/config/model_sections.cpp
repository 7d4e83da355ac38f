#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "placement/catalogue/catalogue.hpp"
#include "pricing/list_prices.hpp"
#include "router/config/draft.hpp"
#include "router/config/quantity_text.hpp"
#include "router/config/value_parsers.hpp"

namespace fareway {
namespace {

// Upper bounds keep every product of these figures within 64 bits: devices × HBM, and KV bytes × copies ×
// context.
constexpr std::int64_t kMostParameters = 1'000'000'000'000'000;
constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kMostHidden = 1'000'000;
constexpr std::int64_t kMostHeads = 10'000;
constexpr std::int64_t kMostExperts = 100'000;
constexpr Bytes kMostKvPerToken{64 * 1024 * 1024};
constexpr Bytes kMostWindowKvPerToken{16 * 1024 *
                                      1024};  // both times 1024 copies and 100 million tokens stay below 2^63
constexpr Bytes kMostState{1024 * kGibibyte};
constexpr Bytes kMostHbm{64 * 1024 * kGibibyte};
constexpr Bytes kMostWeights{1024 * 1024 * kGibibyte};
constexpr std::int64_t kMostWorld = 100'000;

constexpr std::array<std::pair<std::string_view, Fp8Dialect>, 3> kDialects{
    {{"none", Fp8Dialect::kNone}, {"ocp", Fp8Dialect::kOcp}, {"fnuz", Fp8Dialect::kFnuz}}};

constexpr std::array<std::pair<std::string_view, Vendor>, 3> kVendors{
    {{"amd", Vendor::kAmd}, {"nvidia", Vendor::kNvidia}, {"other", Vendor::kOther}}};

constexpr std::array kFormats{NumberFormat::kBf16, NumberFormat::kFp8,   NumberFormat::kFp8Fnuz,
                              NumberFormat::kInt4, NumberFormat::kMxfp4, NumberFormat::kNvfp4};

template <class Thing>
std::vector<std::string> names_of(std::span<const Thing> things) {
  std::vector<std::string> names;
  for (const Thing& thing : things) names.push_back(thing.name);
  return names;
}

/// The catalogue's entry that a section starts from: the one its `catalogue` names, else the one of its own
/// name.
template <class Thing>
const Thing* start_of(Section& section, const std::string& name, const Thing* (*find)(std::string_view),
                      std::span<const Thing> all) {
  const auto named = section.optional("catalogue", [&](const YamlNode& node) -> Checked<const Thing*> {
    const Checked<std::string> text = text_value(node);
    if (!text) return text.error();
    if (const Thing* thing = find(*text)) return thing;
    return Complaint{
        fmt::format("the catalogue has no {}; {}", in_quotes(*text), suggestion(*text, names_of(all)))};
  });
  return named ? *named : find(name);
}

/// Reads one device over `device`, which holds what is known of that name already. Without such a start every
/// figure must be given.
void read_device_figures(Section& section, bool known, Device& device) {
  const auto figure = [&]<class T, class F>(std::string_view key, const F& parse, T& field) {
    if (known) {
      section.read_into(key, parse, field);
    } else {
      field = section.required(key, parse);
    }
  };
  const auto share = positive_up_to(decimal_value, 1.0, "1");
  const auto bandwidth = positive(from_text(parse_bandwidth));
  figure("hbm", size_up_to(kMostHbm, "64TiB"), device.hbm);
  figure("hbm_bandwidth", bandwidth, device.hbm_bandwidth);
  figure("bandwidth_efficiency", share, device.bandwidth_efficiency);
  figure("bf16_flops", positive(from_text(parse_flops)), device.bf16_flops);
  figure("compute_efficiency", share, device.compute_efficiency);
  figure("link_bandwidth", bandwidth, device.link_bandwidth);
  figure("collective_latency", from_text(parse_seconds), device.collective_latency);
  figure("layer_overhead", from_text(parse_seconds), device.layer_overhead);
  section.read_into("vendor", one_of(kVendors), device.vendor);
  section.read_into("fp8_flops", positive(from_text(parse_flops)), device.fp8_flops);
  section.read_into("fp4_flops", positive(from_text(parse_flops)), device.fp4_flops);
  section.read_into("link_pairwise", bandwidth, device.link_pairwise);
  section.read_into("scale_up_world", whole_number<std::uint32_t>(1, kMostWorld), device.scale_up_world);
  if (const auto network = section.optional("scale_out_bandwidth", bandwidth))
    device.scale_out_bandwidth = network;
  section.read_into("fp8_dialect", one_of(kDialects), device.fp8_dialect);
  section.read_into("native_mxfp4", bool_value, device.native_mxfp4);
  section.read_into("native_nvfp4", bool_value, device.native_nvfp4);
}

void check_device(Section& section, const Device& device) {
  const bool has_dialect = device.fp8_dialect != Fp8Dialect::kNone;
  if (section.ok() && has_dialect != (device.fp8_flops.value > 0)) {
    section.report("fp8_dialect", "fp8_flops and fp8_dialect belong together; give both or neither");
  }
}

std::optional<ListPrice> read_list_price(Section& model) {
  auto section = model.section("list_price");
  if (!section) return std::nullopt;
  const auto price = [&](std::string_view key) {
    return NanoUsdPerMTok{section->required(key, usd_value).value};
  };
  const ListPrice list{.input = price("input"), .cached = price("cached"), .output = price("output")};
  section->finish();
  return list;
}

void check_model(Section& section, const Model& model) {
  if (!section.ok()) return;
  if (model.active_parameters > model.total_parameters) {
    section.report("active_parameters", "is more than total_parameters");
  }
  if (model.experts == 0 && model.experts_per_token != 0) {
    section.report("experts_per_token", "needs experts; leave both out for a dense model");
  }
  // k = E would make every expert active: that is a dense model, and the speed model divides by 1 − k/E.
  if (model.experts != 0 && (model.experts_per_token == 0 || model.experts_per_token >= model.experts)) {
    section.report("experts_per_token", "must be from 1 to one less than experts");
  }
}

/// Sizes of checkpoints by format, over those already known.
void read_weights(Section& model_section, Model& model) {
  auto section = model_section.section("weights");
  if (!section) return;
  for (const NumberFormat format : kFormats) {
    const auto size = section->optional(to_string(format), size_up_to(kMostWeights, "1024TiB"));
    if (!size) continue;
    std::erase_if(model.checkpoints, [&](const Checkpoint& each) { return each.format == format; });
    model.checkpoints.push_back({.format = format, .also = std::nullopt, .weights = *size});
  }
  section->finish();
}

/// Bytes of KV cache and state. A figure that is given takes the place of the catalogue's finer ones.
void read_cache_figures(Section& section, bool known, Model& model) {
  const auto per_token = size_up_to(kMostKvPerToken, "64MiB");
  if (const auto given =
          known ? section.optional("kv_per_token", per_token) : section.demanded("kv_per_token", per_token)) {
    model.kv_per_token = *given;
    model.kv_per_token_fp8.reset();
  }
  if (const auto given = section.optional("kv_per_token_fp8", per_token)) model.kv_per_token_fp8 = given;
  section.read_into("window", tokens(), model.window);
  section.read_into("window_kv_per_token", size_up_to(kMostWindowKvPerToken, "16MiB"),
                    model.window_kv_per_token);
  if (const auto given = section.optional("state_per_sequence", size_up_to(kMostState, "1TiB"))) {
    model.state_per_sequence = *given;
    model.conv_state = {};
  }
  if ((model.window.value > 0) != (model.window_kv_per_token.value > 0))
    section.report("window", "window and window_kv_per_token belong together; give both or neither");
}

Model read_model(Section& section) {
  const auto parameters = whole_number<std::int64_t>(1, kMostParameters);
  const std::string name = section.required("name", name_value);
  const Model* start = start_of(section, name, find_model, catalogue_models());
  const bool known = start != nullptr;
  Model model = known ? *start : Model{};
  model.name = name;
  const auto figure = [&]<class T, class F>(std::string_view key, const F& parse, T& field) {
    if (known) {
      section.read_into(key, parse, field);
    } else {
      field = section.required(key, parse);
    }
  };
  figure("total_parameters", parameters, model.total_parameters);
  figure("active_parameters", parameters, model.active_parameters);
  figure("layers", whole_number<std::uint32_t>(1, kMostLayers), model.layers);
  if (!known) model.full_attention_layers = model.layers;
  figure("hidden_size", whole_number<std::uint32_t>(1, kMostHidden), model.hidden_size);
  if (const auto heads = section.optional("heads", whole_number<std::uint32_t>(1, kMostHeads)))
    model.heads = heads;
  figure("kv_heads", whole_number<std::uint32_t>(1, kMostHeads), model.kv_heads);
  section.read_into("experts", whole_number<std::uint32_t>(0, kMostExperts), model.experts);
  section.read_into("experts_per_token", whole_number<std::uint32_t>(0, kMostExperts),
                    model.experts_per_token);
  read_cache_figures(section, known, model);
  figure("attention_flops_per_pair", parameters, model.attention_flops_per_pair);
  figure("context_limit", tokens(), model.context_limit);
  read_weights(section, model);
  model.list_price = read_list_price(section);
  check_model(section, model);
  return model;
}

}  // namespace

void read_devices(Section& top, ConfigDraft& draft) {
  std::vector<Device>& devices = draft.config.fleet.devices;
  top.for_each("devices", [&](Section& section) {
    const std::string name = section.required("name", name_value);
    const Device* start = start_of(section, name, find_device, catalogue_devices());
    Device device = start != nullptr ? *start : Device{};
    // An entry of a known name changes that device, however the name is written.
    device.name = start != nullptr && find_device(name) == start ? start->name : name;
    read_device_figures(section, start != nullptr, device);
    check_device(section, device);
    section.finish();
    draft.devices.define(section, "name", device.name, section.ok());
    devices.push_back(std::move(device));
  });
  for (const Device& device : catalogue_devices()) {
    if (draft.devices.define_if_new(device.name)) devices.push_back(device);
  }
}

void read_models(Section& top, ConfigDraft& draft) {
  top.for_each("models", [&](Section& section) {
    Model model = read_model(section);
    section.finish();
    draft.models.define(section, "name", model.name, section.ok());
    draft.config.fleet.models.push_back(std::move(model));
  });
}

NameParser device_named(ConfigDraft& draft) {
  return [&draft](const YamlNode& node) -> Checked<std::uint32_t> {
    const Checked<std::string> name = text_value(node);
    if (!name) return name.error();
    if (const auto position = draft.devices.find(*name)) return *position;
    const Device* device = find_device(*name);
    if (device == nullptr) return draft.devices.unknown(*name);
    return *draft.devices.find(device->name);  // the whole catalogue is in the draft
  };
}

NameParser model_named(ConfigDraft& draft) {
  return [&draft](const YamlNode& node) -> Checked<std::uint32_t> {
    const Checked<std::string> name = name_value(node);
    if (!name) return name.error();
    if (const auto position = draft.models.find(*name)) return *position;
    const Model* model = find_model(*name);
    if (model == nullptr) return draft.models.unknown(*name, names_of(catalogue_models()));
    draft.models.define_if_new(*name);
    draft.config.fleet.models.push_back(*model);
    draft.config.fleet.models.back().name = *name;  // clients ask for it as the file calls it
    return *draft.models.find(*name);
  };
}

}  // namespace fareway
