#include "placement/speed/deployment_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "placement/catalogue/acceptance.hpp"
#include "placement/catalogue/catalogue.hpp"
#include "placement/model/capacity_question.hpp"
#include "placement/model/format_support.hpp"

namespace fareway {
namespace {

constexpr std::uint32_t kMostDevices = 1024;

using Error = DeploymentTextError;
template <class T>
using Parsed = boost::system::result<T, Error>;

/// What the parts say; what they leave open is nothing.
struct Parts {
  std::optional<std::uint32_t> devices, tp, pp, dp, ep, dcp;
  std::optional<NumberFormat> format;
  std::optional<KvFormat> kv_format;
  std::string_view method;
  std::uint32_t drafted{};
};

std::optional<std::uint32_t> whole(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (value == 0 || value > kMostDevices) return std::nullopt;
  return value;
}

std::string quoted(std::string_view text) {
  return "\"" + std::string{text} + "\"";
}

std::string lowered(std::string_view text) {
  std::string lower{text};
  std::ranges::transform(lower, lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? char(letter + 32) : letter;
  });
  return lower;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t colon = text.find(':');
    pieces.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return pieces;
    text.remove_prefix(colon + 1);
  }
}

/// "2x8" as 16; nothing where it is not of that form.
std::optional<std::uint32_t> nodes_by_devices(std::string_view part) {
  const std::size_t by = part.find('x');
  if (by == std::string_view::npos) return std::nullopt;
  const auto nodes = whole(part.substr(0, by));
  const auto each = whole(part.substr(by + 1));
  if (!nodes || !each || *nodes * *each > kMostDevices) return std::nullopt;
  return *nodes * *each;
}

bool read_degree(std::string_view part, Parts& parts) {
  const std::array<std::pair<std::string_view, std::optional<std::uint32_t>*>, 5> degrees{
      {{"tp", &parts.tp}, {"pp", &parts.pp}, {"dp", &parts.dp}, {"ep", &parts.ep}, {"dcp", &parts.dcp}}};
  for (const auto& [name, degree] : degrees) {
    if (!part.starts_with(name)) continue;
    *degree = whole(part.substr(name.size()));
    return degree->has_value();
  }
  return false;
}

bool read_method(std::string_view part, Parts& parts) {
  for (const std::string_view method : {"mtp", "eagle3-", "dspark"}) {
    if (!part.starts_with(method)) continue;
    const auto drafted = whole(part.substr(method.size()));
    parts.method = method.ends_with('-') ? method.substr(0, method.size() - 1) : method;
    parts.drafted = drafted.value_or(0);
    return drafted.has_value();
  }
  return false;
}

bool read_part(std::string_view part, Parts& parts) {
  if (const auto devices = nodes_by_devices(part)) {
    parts.devices = devices;
    return true;
  }
  if (const auto format = parse_number_format(part)) {
    parts.format = format;
    return true;
  }
  if (part.starts_with("kv=")) {
    parts.kv_format = parse_kv_format(part.substr(3));
    return parts.kv_format.has_value();
  }
  return read_degree(part, parts) || read_method(part, parts);
}

/// The device's name, its count before it taken off.
std::string_view take_count(std::string_view head, Parts& parts) {
  const std::size_t by = head.find('x');
  if (by == std::string_view::npos) return head;
  const auto count = whole(head.substr(0, by));
  if (!count) return head;
  parts.devices = count;
  return head.substr(by + 1);
}

Parsed<const Device*> device_of(std::string_view name) {
  if (const Device* device = find_device(name)) return device;
  std::string what = "no device " + quoted(name) + " in the catalogue";
  if (const auto nearest = nearest_device_name(name)) what += "; did you mean \"" + *nearest + "\"?";
  return Error{std::move(what)};
}

Parsed<Parallelism> parallelism_of(const Model& model, const Parts& parts) {
  Parallelism degrees{.pp = parts.pp.value_or(1), .dp = parts.dp.value_or(1), .dcp = parts.dcp.value_or(1)};
  const std::uint32_t others = degrees.pp * degrees.dp;
  const std::uint32_t devices = parts.devices.value_or(parts.tp.value_or(1) * others);
  degrees.tp = parts.tp.value_or(std::max(1U, devices / others));
  if (degrees.devices() != devices) {
    return Error{std::to_string(devices) + " devices are not tp " + std::to_string(degrees.tp) + " x pp " +
                 std::to_string(degrees.pp) + " x dp " + std::to_string(degrees.dp)};
  }
  degrees.ep = parts.ep.value_or(1);
  if (devices % degrees.ep != 0)
    return Error{"ep does not divide the " + std::to_string(devices) + " devices"};
  if (degrees.ep > 1 && model.experts == 0)
    return Error{model.name + " has no experts to spread; leave ep out"};
  if (model.heads && *model.heads % degrees.tp != 0) {
    return Error{"tp " + std::to_string(degrees.tp) + " does not divide the " + std::to_string(*model.heads) +
                 " attention heads of " + model.name};
  }
  if (degrees.dcp > 1 && degrees.tp % (degrees.dcp * model.kv_heads) != 0) {
    return Error{"dcp " + std::to_string(degrees.dcp) + " splits copies of the KV cache, but tp " +
                 std::to_string(degrees.tp) + " over " + std::to_string(model.kv_heads) +
                 " KV heads does not make that many"};
  }
  return degrees;
}

Parsed<const Checkpoint*> checkpoint_of(const Model& model, const Device& device,
                                        std::optional<NumberFormat> format) {
  if (format) {
    const Checkpoint* named = model.checkpoint(*format);
    if (named == nullptr)
      return Error{"the catalogue knows no " + std::string{to_string(*format)} + " checkpoint of " +
                   model.name};
    if (format_support(device, *format) == FormatSupport::kWrong)
      return Error{device.name + " would compute " + std::string{to_string(*format)} + " wrongly"};
    return named;
  }
  const Checkpoint* emulated = nullptr;
  for (const Checkpoint& each : model.checkpoints) {
    const FormatSupport support = format_support(device, each.format);
    if (support == FormatSupport::kNative || support == FormatSupport::kConverted) return &each;
    if (support == FormatSupport::kEmulated && emulated == nullptr) emulated = &each;
  }
  if (emulated != nullptr) return emulated;
  return Error{"the catalogue knows no checkpoint of " + model.name + " that " + device.name + " can run"};
}

Parsed<Speculation> speculation_of(const Model& model, const Parts& parts) {
  const AcceptanceTable* table = find_acceptance(model.name, parts.method);
  if (table == nullptr)
    return Error{"no acceptance lengths of " + std::string{parts.method} + " with " + model.name +
                 " are known, so its speed is not either"};
  if (parts.drafted > table->accepted.size())
    return Error{std::string{parts.method} + " is measured for at most " +
                 std::to_string(table->accepted.size()) + " drafted tokens"};
  const double passes = table->block_draft ? 1 : parts.drafted;
  return Speculation{.drafted = static_cast<double>(parts.drafted),
                     .accepted = table->accepted[parts.drafted - 1],
                     .draft_share = table->draft_layers * passes / model.layers};
}

}  // namespace

Placement NamedDeployment::placement() const {
  return {.model = *model,
          .device = *device,
          .parallelism = parallelism,
          .format = format,
          .kv_format = kv_format,
          .weights = weights};
}

Parsed<NamedDeployment> parse_deployment(const Model& model, std::string_view text) {
  Parts parts;
  const std::string lower = lowered(text);
  const std::vector<std::string_view> pieces = split(lower);
  const auto in_text = [&](const Error& error) { return Error{quoted(text) + ": " + error.what}; };
  const auto device = device_of(take_count(pieces.front(), parts));
  if (!device) return in_text(device.error());
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (!read_part(pieces[i], parts))
      return in_text({quoted(pieces[i]) +
                      " is none of 2x8, tpN, ppN, dpN, epN, dcpN, a number format, kv=FORMAT, "
                      "mtpN, eagle3-N, dsparkN"});
  }
  const auto parallelism = parallelism_of(model, parts);
  if (!parallelism) return in_text(parallelism.error());
  const auto checkpoint = checkpoint_of(model, **device, parts.format);
  if (!checkpoint) return in_text(checkpoint.error());
  NamedDeployment named{.text = std::string{text},
                        .model = &model,
                        .device = *device,
                        .parallelism = *parallelism,
                        .format = (*checkpoint)->format,
                        .kv_format = parts.kv_format.value_or(KvFormat::kBf16),
                        .weights = weights_in_group(model, (*checkpoint)->weights, *parallelism)};
  if (!parts.method.empty()) {
    const auto speculation = speculation_of(model, parts);
    if (!speculation) return in_text(speculation.error());
    named.speculation = *speculation;
    named.speculation_method = std::string{parts.method};
  }
  return named;
}

}  // namespace fareway
