#include "placement/model/format_support.hpp"

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/catalogue/catalogue.hpp"

namespace fareway {
namespace {

using ::testing::HasSubstr;

constexpr std::array kFormats{NumberFormat::kBf16, NumberFormat::kFp8,   NumberFormat::kFp8Fnuz,
                              NumberFormat::kInt4, NumberFormat::kMxfp4, NumberFormat::kNvfp4};

const Device& known(std::string_view name) {
  return *find_device(name);
}

TEST(FormatVerdict, ConvertsOcpFp8OnAnFnuzDeviceAndNeverTheOtherWayRound) {
  const FormatVerdict converted = format_verdict(known("MI300X"), NumberFormat::kFp8);
  EXPECT_EQ(converted.support, FormatSupport::kConverted);
  EXPECT_THAT(converted.reason, HasSubstr("scales are doubled on load"));
  EXPECT_EQ(format_support(known("MI300X"), NumberFormat::kFp8Fnuz), FormatSupport::kNative);
  EXPECT_EQ(format_support(known("MI355X"), NumberFormat::kFp8), FormatSupport::kNative);
  const FormatVerdict wrong = format_verdict(known("MI355X"), NumberFormat::kFp8Fnuz);
  EXPECT_EQ(wrong.support, FormatSupport::kWrong);
  EXPECT_THAT(wrong.reason, HasSubstr("every value doubled"));
}

TEST(FormatVerdict, EmulatesMxfp4WhereTheDeviceHasNone) {
  const FormatVerdict amd = format_verdict(known("MI300X"), NumberFormat::kMxfp4);
  EXPECT_EQ(amd.support, FormatSupport::kEmulated);
  EXPECT_NEAR(amd.slowdown, 2.85, 0.01) << "58.9 over 20.7";
  EXPECT_THAT(amd.reason, HasSubstr("MI300X has no MXFP4 units"));
  const FormatVerdict nvidia = format_verdict(known("H100"), NumberFormat::kMxfp4);
  EXPECT_EQ(nvidia.support, FormatSupport::kEmulated);
  EXPECT_LT(nvidia.slowdown, amd.slowdown) << "expanded in registers, not in memory";
  EXPECT_EQ(format_support(known("MI355X"), NumberFormat::kMxfp4), FormatSupport::kNative);
}

TEST(FormatVerdict, ServesNvfp4OnNvidiaOnly) {
  EXPECT_EQ(format_support(known("B200"), NumberFormat::kNvfp4), FormatSupport::kNative);
  EXPECT_EQ(format_support(known("H200"), NumberFormat::kNvfp4), FormatSupport::kEmulated);
  EXPECT_EQ(format_support(known("MI355X"), NumberFormat::kNvfp4), FormatSupport::kWrong);
}

TEST(FormatVerdict, AnEngineThatIsTooOldRunsTheFormatWrong) {
  const Device& device = known("MI300X");
  const auto at = [&](const char* version) {
    return format_verdict(device, NumberFormat::kFp8,
                          {.name = "vllm", .version = parse_engine_version(version)});
  };
  EXPECT_EQ(at("0.5.4").support, FormatSupport::kWrong);
  EXPECT_THAT(at("0.5.4").reason,
              HasSubstr("vllm 0.5.4 does not run fp8 on MI300X rightly; 0.5.5 and later do"));
  EXPECT_EQ(at("0.5.5").support, FormatSupport::kConverted);
  EXPECT_EQ(format_verdict(known("B200"), NumberFormat::kMxfp4,
                           {.name = "vllm", .version = EngineVersion{0, 10, 0}})
                .support,
            FormatSupport::kWrong);
  EXPECT_EQ(
      format_verdict(known("H200"), NumberFormat::kFp8, {.name = "vllm", .version = EngineVersion{0, 5, 0}})
          .support,
      FormatSupport::kNative)
      << "native FP8 needs no conversion";
}

TEST(FormatVerdict, LlamaCppHasNoFp8) {
  EXPECT_EQ(format_verdict(known("H100"), NumberFormat::kFp8, {.name = "llamacpp"}).support,
            FormatSupport::kWrong);
  EXPECT_EQ(format_verdict(known("H100"), NumberFormat::kBf16, {.name = "llamacpp"}).support,
            FormatSupport::kNative);
}

TEST(FormatVerdict, OfAMixedCheckpointIsTheWorstOfItsParts) {
  const Checkpoint mixed{.format = NumberFormat::kMxfp4, .also = NumberFormat::kFp8, .weights = {1}};
  const FormatVerdict amd = format_verdict(known("MI300X"), mixed);
  EXPECT_EQ(amd.support, FormatSupport::kEmulated);
  EXPECT_THAT(amd.reason, HasSubstr("MXFP4"));
  EXPECT_THAT(amd.reason, HasSubstr("doubled on load"));
  EXPECT_EQ(format_verdict(known("B200"), mixed).support, FormatSupport::kNative);
  const Checkpoint fnuz{.format = NumberFormat::kMxfp4, .also = NumberFormat::kFp8Fnuz, .weights = {1}};
  EXPECT_EQ(format_verdict(known("B200"), fnuz).support, FormatSupport::kWrong);
}

// Over every device, format and engine of the catalogue.
TEST(FormatMatrix, EveryVerdictHasAReasonAndOnlyEmulationCostsTime) {
  for (const Device& device : catalogue_devices())
    for (const NumberFormat format : kFormats)
      for (const char* engine : {"", "vllm", "llamacpp", "sglang"}) {
        SCOPED_TRACE(device.name + " " + std::string(to_string(format)) + " " + engine);
        const FormatVerdict verdict = format_verdict(device, format, {.name = engine});
        EXPECT_FALSE(verdict.reason.empty());
        EXPECT_EQ(verdict.slowdown > 1, verdict.support == FormatSupport::kEmulated);
        EXPECT_GE(verdict.slowdown, 1);
      }
}

TEST(FormatMatrix, ANewerEngineNeverRunsLess) {
  const std::array versions{EngineVersion{0, 4, 0}, EngineVersion{0, 5, 5}, EngineVersion{0, 9, 0},
                            EngineVersion{0, 10, 1}, EngineVersion{1, 0, 0}};
  for (const Device& device : catalogue_devices())
    for (const NumberFormat format : kFormats) {
      bool ran = false;
      for (const EngineVersion& version : versions) {
        const bool runs = format_verdict(device, format, {.name = "vllm", .version = version}).support !=
                          FormatSupport::kWrong;
        EXPECT_TRUE(runs || !ran) << device.name << ' ' << to_string(format) << ' ' << to_string(version);
        ran = ran || runs;
      }
      EXPECT_EQ(ran, format_verdict(device, format, {.name = "vllm"}).support != FormatSupport::kWrong)
          << "no version means the newest";
    }
}

TEST(FormatMatrix, ADeviceIsNativeInItsOwnFp8DialectOnly) {
  for (const Device& device : catalogue_devices()) {
    SCOPED_TRACE(device.name);
    EXPECT_EQ(format_support(device, NumberFormat::kFp8) == FormatSupport::kNative,
              device.fp8_dialect == Fp8Dialect::kOcp);
    EXPECT_EQ(format_support(device, NumberFormat::kFp8Fnuz) == FormatSupport::kNative,
              device.fp8_dialect == Fp8Dialect::kFnuz);
    EXPECT_EQ(format_support(device, NumberFormat::kBf16), FormatSupport::kNative);
  }
}

TEST(EngineVersion, ReadsTheFirstThreeNumbers) {
  EXPECT_EQ(parse_engine_version("0.10.1"), (EngineVersion{0, 10, 1}));
  EXPECT_EQ(parse_engine_version("v0.11"), (EngineVersion{0, 11, 0}));
  EXPECT_EQ(parse_engine_version("0.25.2.dev0+g752a3a504.rocm724"), (EngineVersion{0, 25, 2}));
  for (const char* wrong : {"", "v", "latest", "9", "b6096", "-1.0", "99999999999.1"})
    EXPECT_EQ(parse_engine_version(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace fareway
