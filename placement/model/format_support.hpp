#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "placement/model/device.hpp"
#include "placement/model/model.hpp"
#include "placement/model/number_format.hpp"

namespace fareway {

/// "0.10.1", "v0.25.2.dev0+g752a3a5": the first three numbers count.
struct EngineVersion {
  std::uint32_t major{};
  std::uint32_t minor{};
  std::uint32_t patch{};
  auto operator<=>(const EngineVersion&) const = default;
};
std::optional<EngineVersion> parse_engine_version(std::string_view text);
std::string to_string(const EngineVersion& version);

/// The program that runs a checkpoint. No name: any; no version: one that has all its kind ever learned.
struct EngineBuild {
  std::string name;  ///< "vllm", "llamacpp", "sglang"; engines without rules of their own are allowed
  std::optional<EngineVersion> version;
};

/// How a checkpoint runs on a device, in words for people and as a factor for the speed model.
struct FormatVerdict {
  FormatSupport support{FormatSupport::kNative};
  std::string reason;
  double slowdown{1.0};  ///< of everything that touches the weights; 1 unless emulated
};

/// One number format on `device` under `engine`.
FormatVerdict format_verdict(const Device& device, NumberFormat format, const EngineBuild& engine = {});
/// A whole checkpoint: the worst verdict of its formats, with every reason that is not native.
FormatVerdict format_verdict(const Device& device, const Checkpoint& checkpoint,
                             const EngineBuild& engine = {});

FormatSupport format_support(const Device& device, NumberFormat format);

}  // namespace fareway
