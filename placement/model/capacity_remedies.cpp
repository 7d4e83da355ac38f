#include "placement/model/capacity_remedies.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace fareway {
namespace {

/// Numbers of devices that are sold and wired together: parts of a node of eight, then whole nodes.
constexpr std::array kGroupSizes{1U, 2U, 4U, 8U, 16U, 24U, 32U, 48U, 64U, 72U, 128U};

bool runs(const CapacityQuestion& question) {
  return format_verdict(*question.device, question.checkpoint, question.engine).support !=
             FormatSupport::kWrong &&
         parallelism_problems(*question.model, question.parallelism).empty() &&
         capacity_of(question).sessions(question.context) > 0;
}

/// `devices` of them: a wider TP group, or more pipeline stages where the model cannot be split so wide. DCP
/// grows with TP as far as there are copies.
std::vector<Parallelism> wider(const Parallelism& now, std::uint32_t devices) {
  std::vector<Parallelism> all;
  Parallelism tensor = now;
  if (devices % (now.pp * now.dp) == 0) {
    tensor.tp = devices / (now.pp * now.dp);
    if (now.dcp > 1) tensor.dcp = now.dcp * std::max(1U, tensor.tp / now.tp);
    all.push_back(tensor);
  }
  Parallelism stages = now;
  if (devices % now.devices() == 0) {
    stages.pp = now.pp * (devices / now.devices());
    all.push_back(stages);
  }
  return all;
}

std::string degrees_text(const Parallelism& degrees) {
  std::string text = fmt::format("tp {}", degrees.tp);
  if (degrees.pp > 1) text += fmt::format(", pp {}", degrees.pp);
  if (degrees.dp > 1) text += fmt::format(", dp {}", degrees.dp);
  if (degrees.dcp > 1) text += fmt::format(", dcp {}", degrees.dcp);
  return text;
}

std::optional<std::string> more_devices(CapacityQuestion question) {
  const Parallelism now = question.parallelism;
  for (const std::uint32_t size : kGroupSizes) {
    if (size <= now.devices()) continue;
    for (const Parallelism& degrees : wider(now, size)) {
      question.parallelism = degrees;
      if (runs(question))
        return fmt::format("{} x {} ({})", size, question.device->name, degrees_text(degrees));
    }
  }
  return std::nullopt;
}

/// As many of another device, the smallest memory first.
std::vector<std::string> other_devices(CapacityQuestion question, std::span<const Device> alternatives) {
  const Device* const now = question.device;
  std::vector<const Device*> fitting;
  for (const Device& device : alternatives) {
    question.device = &device;
    if (&device != now && device.name != now->name && runs(question)) fitting.push_back(&device);
  }
  std::ranges::sort(fitting, {}, [](const Device* device) { return std::pair{device->hbm, device->name}; });
  std::vector<std::string> all;
  for (const Device* device : fitting) {
    const bool emulated =
        format_verdict(*device, question.checkpoint, question.engine).support == FormatSupport::kEmulated;
    all.push_back(
        fmt::format("{} x {}{}", question.parallelism.devices(), device->name,
                    emulated ? fmt::format(", {} emulated", to_string(question.checkpoint.format)) : ""));
  }
  return all;
}

std::vector<std::string> other_formats(CapacityQuestion question) {
  std::vector<std::string> all;
  const NumberFormat now = question.checkpoint.format;
  for (const Checkpoint& checkpoint : question.model->checkpoints) {
    question.checkpoint = checkpoint;
    if (checkpoint.format == now || !runs(question)) continue;
    all.push_back(
        fmt::format("the {} checkpoint, {:.1f} GiB", to_string(checkpoint.format),
                    static_cast<double>(checkpoint.weights.value) / static_cast<double>(kGibibyte)));
  }
  return all;
}

std::optional<std::string> smaller_cache(CapacityQuestion question) {
  if (question.kv_format == KvFormat::kFp8) return std::nullopt;
  question.kv_format = KvFormat::kFp8;
  if (!runs(question)) return std::nullopt;
  return "an FP8 KV cache";
}

std::optional<std::string> shorter_context(CapacityQuestion question) {
  question.context = capacity_of(question).longest_sequence();
  if (question.context.value < 1 || !runs(question)) return std::nullopt;
  return fmt::format("a context of {} tokens", question.context.value);
}

}  // namespace

std::vector<std::string> capacity_remedies(const CapacityQuestion& question,
                                           std::span<const Device> alternatives) {
  std::vector<std::string> all;
  if (auto remedy = smaller_cache(question)) all.push_back(std::move(*remedy));
  if (auto remedy = shorter_context(question)) all.push_back(std::move(*remedy));
  if (auto remedy = more_devices(question)) all.push_back(std::move(*remedy));
  for (std::string& remedy : other_devices(question, alternatives)) all.push_back(std::move(remedy));
  for (std::string& remedy : other_formats(question)) all.push_back(std::move(remedy));
  return all;
}

}  // namespace fareway
