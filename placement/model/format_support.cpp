#include "placement/model/format_support.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace fareway {
namespace {

// Weights that are expanded to bf16 in registers, inside the matrix product (Marlin kernels on NVIDIA, from
// Ampere on): 3.8 times as fast as bf16 where four bits would allow 4 (published for Marlin, batches up to
// 32).
constexpr double kFusedSlowdown = 4.0 / 3.8;
// Weights that are expanded in memory before each product, which vLLM does on CDNA3 for want of a fused
// kernel (vLLM issue 34331: "very slow"). Assumption: what fused kernels were worth on that device, 58.9
// over 20.7 tokens/s of one stream for DeepSeek-V4-Flash on MI300X, published.
constexpr double kUnfusedSlowdown = 58.9 / 20.7;

FormatVerdict emulated(const Device& device, std::string_view units) {
  const bool fused = device.vendor == Vendor::kNvidia;
  return {FormatSupport::kEmulated,
          fmt::format("{} has no {} units: weights stay packed and are expanded to bf16 {}", device.name,
                      units, fused ? "inside each matrix product" : "before each matrix product"),
          fused ? kFusedSlowdown : kUnfusedSlowdown};
}

FormatVerdict ocp_fp8(const Device& device) {
  switch (device.fp8_dialect) {
    case Fp8Dialect::kNone:
      return emulated(device, "FP8");
    case Fp8Dialect::kOcp:
      return {FormatSupport::kNative, fmt::format("{} computes OCP e4m3", device.name)};
    case Fp8Dialect::kFnuz:
      return {
          FormatSupport::kConverted,
          fmt::format(
              "{} computes FNUZ e4m3, where the same bits mean half the value: scales are doubled on load",
              device.name)};
  }
  return {FormatSupport::kWrong, "unknown FP8 dialect"};
}

FormatVerdict fnuz_fp8(const Device& device) {
  if (device.fp8_dialect == Fp8Dialect::kFnuz)
    return {FormatSupport::kNative, fmt::format("{} computes FNUZ e4m3", device.name)};
  return {
      FormatSupport::kWrong,
      fmt::format("{} would read FNUZ e4m3 as OCP e4m3, every value doubled; use the OCP or bf16 checkpoint",
                  device.name)};
}

FormatVerdict nvfp4(const Device& device) {
  if (device.native_nvfp4) return {FormatSupport::kNative, fmt::format("{} computes NVFP4", device.name)};
  if (device.vendor == Vendor::kNvidia) return emulated(device, "NVFP4");
  // vLLM pull request 35737 emulates it there, its authors say for research.
  return {FormatSupport::kWrong,
          fmt::format("no engine serves NVFP4 on {}; use an MXFP4, FP8 or bf16 checkpoint", device.name)};
}

FormatVerdict on_device(const Device& device, NumberFormat format) {
  switch (format) {
    case NumberFormat::kBf16:
      return {FormatSupport::kNative, fmt::format("{} computes bf16", device.name)};
    case NumberFormat::kInt4:
      return {FormatSupport::kConverted, "weight-only: expanded to bf16 inside each matrix product"};
    case NumberFormat::kFp8:
      return ocp_fp8(device);
    case NumberFormat::kFp8Fnuz:
      return fnuz_fp8(device);
    case NumberFormat::kMxfp4:
      if (device.native_mxfp4) return {FormatSupport::kNative, fmt::format("{} computes MXFP4", device.name)};
      return emulated(device, "MXFP4");
    case NumberFormat::kNvfp4:
      return nvfp4(device);
  }
  return {FormatSupport::kWrong, "unknown number format"};
}

/// From which version on an engine loads a format, where it once did not.
struct EngineRule {
  std::string_view engine;
  NumberFormat format;
  std::optional<Fp8Dialect> dialect;  ///< only on devices of this dialect
  EngineVersion since;
};

// vLLM pull requests and the first release that has them: 5975 (FP8 by Marlin on Ampere), 7210 (OCP e4m3
// re-scaled for FNUZ), NVFP4 by Marlin in 0.9.0, MXFP4 with gpt-oss in 0.10.1.
constexpr std::array kEngineRules{EngineRule{"vllm", NumberFormat::kFp8, Fp8Dialect::kNone, {0, 5, 1}},
                                  EngineRule{"vllm", NumberFormat::kFp8, Fp8Dialect::kFnuz, {0, 5, 5}},
                                  EngineRule{"vllm", NumberFormat::kNvfp4, std::nullopt, {0, 9, 0}},
                                  EngineRule{"vllm", NumberFormat::kMxfp4, std::nullopt, {0, 10, 1}}};

/// Why `engine` cannot run `format` at all, where it cannot.
std::optional<std::string> engine_objection(const Device& device, NumberFormat format,
                                            const EngineBuild& engine) {
  if (engine.name == "llamacpp" && (format == NumberFormat::kFp8 || format == NumberFormat::kFp8Fnuz))
    return "llama.cpp reads GGUF files, which have no FP8 type; convert the checkpoint";
  const auto rule = std::ranges::find_if(kEngineRules, [&](const EngineRule& each) {
    return each.engine == engine.name && each.format == format &&
           (!each.dialect || *each.dialect == device.fp8_dialect);
  });
  if (rule == kEngineRules.end() || !engine.version || *engine.version >= rule->since) return std::nullopt;
  return fmt::format("{} {} does not run {} on {} rightly; {} and later do", engine.name,
                     to_string(*engine.version), to_string(format), device.name, to_string(rule->since));
}

}  // namespace

std::optional<EngineVersion> parse_engine_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::array<std::uint32_t, 3> numbers{};
  std::size_t found = 0;
  while (found < numbers.size()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), numbers[found]);
    if (error != std::errc{}) break;
    ++found;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  if (found < 2) return std::nullopt;
  return EngineVersion{numbers[0], numbers[1], numbers[2]};
}

std::string to_string(const EngineVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

FormatVerdict format_verdict(const Device& device, NumberFormat format, const EngineBuild& engine) {
  FormatVerdict verdict = on_device(device, format);
  if (verdict.support == FormatSupport::kWrong) return verdict;
  if (auto objection = engine_objection(device, format, engine))
    return {FormatSupport::kWrong, std::move(*objection)};
  return verdict;
}

FormatVerdict format_verdict(const Device& device, const Checkpoint& checkpoint, const EngineBuild& engine) {
  FormatVerdict verdict = format_verdict(device, checkpoint.format, engine);
  if (!checkpoint.also) return verdict;
  const FormatVerdict rest = format_verdict(device, *checkpoint.also, engine);
  if (rest.support == FormatSupport::kNative) return verdict;
  verdict.reason =
      verdict.support == FormatSupport::kNative ? rest.reason : verdict.reason + "; " + rest.reason;
  verdict.support = std::max(verdict.support, rest.support);  // in the order of the enumeration
  verdict.slowdown = std::max(verdict.slowdown, rest.slowdown);
  return verdict;
}

FormatSupport format_support(const Device& device, NumberFormat format) {
  return on_device(device, format).support;
}

}  // namespace fareway
