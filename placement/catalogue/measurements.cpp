#include "placement/catalogue/measurements.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fareway {
namespace {

/// Closed loop with answers of 1,024 tokens; TPOT and TTFT in milliseconds, medians.
MeasuredPoint point(double input, double concurrency, double tpot_ms, double ttft_ms) {
  return {.input_tokens = input,
          .output_tokens = 1024,
          .concurrency = concurrency,
          .tpot = Seconds{tpot_ms / 1000},
          .ttft = Seconds{ttft_ms / 1000}};
}

constexpr Parallelism kEight{.tp = 8};
constexpr std::string_view kInferenceX =
    "InferenceX, SemiAnalysis: DeepSeek-R1-0528, aggregated, no speculative decoding";
// The three Kimi K3 deployments are published side by side, without the software's versions, dates or the
// number of sequences behind the aggregate; the same for the two single streams of DeepSeek V4 Flash.
constexpr std::string_view kKimiK3 =
    "published comparison of three Kimi K3 deployments, versions and load not stated";

std::vector<MeasuredDeployment> deepseek_r1() {
  const auto sglang = [](std::string_view device, std::string_view date, std::vector<MeasuredPoint> points) {
    return MeasuredDeployment{.model = "DeepSeek-R1",
                              .device = device,
                              .parallelism = kEight,
                              .format = NumberFormat::kFp8,
                              .software = "SGLang",
                              .date = date,
                              .source = kInferenceX,
                              .points = std::move(points)};
  };
  return {
      sglang("MI300X", "2026-05-18",
             {point(1024, 4, 14.57, 167), point(1024, 8, 17.03, 160), point(1024, 16, 20.99, 161),
              point(1024, 32, 28.01, 163), point(1024, 64, 40.69, 176), point(8192, 4, 19.43, 898),
              point(8192, 8, 22.50, 739), point(8192, 16, 28.89, 476), point(8192, 32, 44.90, 513),
              point(8192, 64, 76.38, 717)}),
      sglang("MI355X", "2026-05-27",
             {point(1024, 4, 9.93, 115), point(1024, 8, 11.12, 117), point(1024, 16, 13.26, 121),
              point(1024, 64, 25.51, 126), point(8192, 4, 12.26, 258), point(8192, 32, 24.98, 301)}),
      sglang("H200", "2026-05-17",
             {point(1024, 4, 9.73, 85), point(1024, 8, 11.71, 88), point(1024, 16, 15.39, 94),
              point(1024, 64, 30.52, 127), point(8192, 4, 10.98, 312), point(8192, 8, 13.93, 314),
              point(8192, 16, 20.22, 330), point(8192, 64, 50.70, 690)}),
      sglang("B200", "2026-05-22",
             {point(1024, 1, 7.18, 157), point(1024, 4, 8.86, 199), point(1024, 16, 13.12, 354),
              point(1024, 32, 16.28, 423), point(1024, 64, 21.80, 545), point(8192, 1, 7.39, 314),
              point(8192, 4, 9.59, 367)}),
      sglang("B300", "2026-05-22",
             {point(1024, 1, 7.04, 71), point(1024, 4, 8.31, 132), point(1024, 16, 12.40, 308),
              point(1024, 32, 15.65, 377), point(1024, 64, 21.19, 510), point(8192, 1, 7.22, 286),
              point(8192, 4, 9.21, 346)}),
  };
}

MeasuredDeployment kimi_k3(std::string_view device, Parallelism parallelism, double stream,
                           double aggregate) {
  return {.model = "Kimi-K3",
          .device = device,
          .parallelism = parallelism,
          .format = NumberFormat::kMxfp4,
          .source = kKimiK3,
          .stream = TokensPerSecond{stream},
          .aggregate = TokensPerSecond{aggregate}};
}

constexpr double kLongPrompt = 172'000;

std::vector<MeasuredDeployment> kimi_k3_deployments() {
  MeasuredDeployment generic = kimi_k3("MI355X", kEight, 118, 952);
  generic.software = "generic prefill kernel";
  generic.prefill = ColdPrefill{kLongPrompt, Seconds{51}};
  MeasuredDeployment latent = generic;
  latent.software = "MLA prefill kernel";
  latent.prefill = ColdPrefill{kLongPrompt, Seconds{kLongPrompt / 13'000}};  // published as 13k tok/s
  MeasuredDeployment blackwell_ultra = kimi_k3("B300", {.tp = 8, .dcp = 8}, 172, 1568);
  blackwell_ultra.prefill = ColdPrefill{kLongPrompt, Seconds{23}};
  return {generic, latent, kimi_k3("B200", {.tp = 16}, 90, 498), blackwell_ultra};
}

std::vector<MeasuredDeployment> deepseek_v4_flash() {
  MeasuredDeployment first{.model = "DeepSeek-V4-Flash",
                           .device = "MI300X",
                           .format = NumberFormat::kMxfp4,
                           .software = "vLLM before its single-stream kernels",
                           .source = "published figures of one MI300X, versions and dates not stated",
                           .stream = TokensPerSecond{20.7}};
  MeasuredDeployment second = first;
  second.software = "vLLM with its single-stream kernels";
  second.stream = TokensPerSecond{58.9};
  // The aggregate is of June 2026, between the two (fergusfinn.com, DeepSeek-V4-Flash on MI300X: 2,485 to
  // 2,699).
  second.aggregate = TokensPerSecond{2699};
  return {first, second};
}

constexpr std::array kSpeculations{
    MeasuredSpeculation{"Kimi-K3", "MI355X", "dspark", 2.2, 1.7, 1.18, kKimiK3}};

}  // namespace

std::span<const MeasuredDeployment> measured_deployments() {
  static const std::vector<MeasuredDeployment> all = [] {
    std::vector<MeasuredDeployment> joined = deepseek_r1();
    for (auto* group : {kimi_k3_deployments, deepseek_v4_flash})
      for (MeasuredDeployment& each : group()) joined.push_back(std::move(each));
    return joined;
  }();
  return all;
}

const MeasuredDeployment* find_measurement(std::string_view model, std::string_view device,
                                           const Parallelism& parallelism, NumberFormat format) {
  const MeasuredDeployment* latest = nullptr;
  for (const MeasuredDeployment& each : measured_deployments())
    if (each.model == model && each.device == device && each.parallelism == parallelism &&
        each.format == format)
      latest = &each;
  return latest;
}

const MeasuredSpeculation* find_speculation(std::string_view model, std::string_view device,
                                            std::string_view method) {
  const auto found = std::ranges::find_if(kSpeculations, [&](const MeasuredSpeculation& each) {
    return each.model == model && each.device == device && each.method == method;
  });
  return found == kSpeculations.end() ? nullptr : &*found;
}

}  // namespace fareway
