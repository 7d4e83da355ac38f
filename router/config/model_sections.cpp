#include <algorithm>
#include <array>
#include <optional>
#include <utility>

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
constexpr Bytes kMostState{1024 * kGibibyte};
constexpr Bytes kMostHbm{64 * 1024 * kGibibyte};

constexpr std::array<std::pair<std::string_view, Fp8Dialect>, 3> kDialects{
    {{"none", Fp8Dialect::kNone}, {"ocp", Fp8Dialect::kOcp}, {"fnuz", Fp8Dialect::kFnuz}}};

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
  section.read_into("fp8_flops", positive(from_text(parse_flops)), device.fp8_flops);
  section.read_into("link_pairwise", bandwidth, device.link_pairwise);
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

Model read_model(Section& section) {
  const auto parameters = whole_number<std::int64_t>(1, kMostParameters);
  Model model;
  model.name = section.required("name", name_value);
  model.total_parameters = section.required("total_parameters", parameters);
  model.active_parameters = section.required("active_parameters", parameters);
  model.layers = section.required("layers", whole_number<std::uint32_t>(1, kMostLayers));
  model.hidden_size = section.required("hidden_size", whole_number<std::uint32_t>(1, kMostHidden));
  model.kv_heads = section.required("kv_heads", whole_number<std::uint32_t>(1, kMostHeads));
  section.read_into("experts", whole_number<std::uint32_t>(0, kMostExperts), model.experts);
  section.read_into("experts_per_token", whole_number<std::uint32_t>(0, kMostExperts),
                    model.experts_per_token);
  model.kv_per_token = section.required("kv_per_token", size_up_to(kMostKvPerToken, "64MiB"));
  section.read_into("state_per_sequence", size_up_to(kMostState, "1TiB"), model.state_per_sequence);
  model.attention_flops_per_pair = section.required("attention_flops_per_pair", parameters);
  model.context_limit = section.required("context_limit", tokens());
  model.list_price = read_list_price(section);
  check_model(section, model);
  return model;
}

}  // namespace

void read_devices(Section& top, ConfigDraft& draft) {
  std::vector<Device>& devices = draft.config.fleet.devices;
  top.for_each("devices", [&](Section& section) {
    Device device;
    device.name = section.required("name", name_value);
    const auto known = std::ranges::find(catalogue_devices(), device.name, &Device::name);
    const bool is_known = known != catalogue_devices().end();
    if (is_known) device = *known;
    read_device_figures(section, is_known, device);
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
  top.for_each_required("models", [&](Section& section) {
    Model model = read_model(section);
    section.finish();
    draft.models.define(section, "name", model.name, section.ok());
    draft.config.fleet.models.push_back(std::move(model));
  });
}

}  // namespace fareway
