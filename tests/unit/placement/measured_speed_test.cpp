// Deployments that somebody has measured: the published figures must come out.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/catalogue/acceptance.hpp"
#include "placement/catalogue/catalogue.hpp"
#include "placement/catalogue/measurements.hpp"
#include "placement/speed/measured_curve.hpp"
#include "placement/speed/speculation.hpp"
#include "placement/speed/speed_answer.hpp"

namespace fareway {
namespace {

constexpr Bytes kReserve{8 * kGibibyte};

NamedDeployment named(const char* model, const char* text) {
  auto deployment = parse_deployment(*find_model(model), text);
  if (!deployment) {
    ADD_FAILURE() << deployment.error().what;
    return {};
  }
  return *deployment;
}

SpeedAnswer answer(const char* model, const char* text, double context, double batch) {
  return answer_speed(named(model, text), context, batch, kReserve);
}

std::string refusal(const char* model, const char* text) {
  const auto deployment = parse_deployment(*find_model(model), text);
  return deployment ? "" : deployment.error().what;
}

MeasuredPoint point(double input, double concurrency, double tpot) {
  return {.input_tokens = input, .output_tokens = 100, .concurrency = concurrency, .tpot = Seconds{tpot}};
}

/// TPOT that grows with clients and prompt, to go on beyond the points.
Seconds linear(const ClosedLoop& load) {
  return Seconds{load.concurrency * load.input_tokens};
}

TEST(MeasuredCurve, GoesThroughItsPointsAndNeverDownBetweenThem) {
  const MeasuredCurve curve{
      {point(1000, 1, 0.010), point(1000, 4, 0.011), point(1000, 16, 0.030), point(1000, 64, 0.031)}};
  EXPECT_NEAR(curve.tpot({1000, 100, 4}, linear).tpot.count(), 0.011, 1e-12);
  double last = 0;
  for (double clients = 1; clients <= 64; ++clients) {
    const MeasuredCurve::Reading reading = curve.tpot({1000, 100, clients}, linear);
    EXPECT_FALSE(reading.extrapolated);
    EXPECT_GE(reading.tpot.count(), last) << clients;
    last = reading.tpot.count();
  }
}

TEST(MeasuredCurve, PoolsNeighboursThatNoiseHasPutInTheWrongOrder) {
  const MeasuredCurve curve{{point(1000, 1, 0.010), point(1000, 2, 0.020), point(1000, 4, 0.018)}};
  const double pooled = std::sqrt(0.020 * 0.018);
  EXPECT_NEAR(curve.tpot({1000, 100, 2}, linear).tpot.count(), pooled, 1e-12);
  EXPECT_NEAR(curve.tpot({1000, 100, 4}, linear).tpot.count(), pooled, 1e-12);
}

TEST(MeasuredCurve, SaysWhereItExtrapolatesAndGoesOnAsTheModelDoes) {
  const MeasuredCurve curve{{point(1000, 1, 0.010), point(1000, 8, 0.020)}};
  const MeasuredCurve::Reading more = curve.tpot({1000, 100, 16}, linear);
  EXPECT_TRUE(more.extrapolated);
  EXPECT_NEAR(more.tpot.count(), 0.020 * 2, 1e-12);
  const MeasuredCurve::Reading longer = curve.tpot({3000, 100, 8}, linear);
  EXPECT_TRUE(longer.extrapolated);
  EXPECT_NEAR(longer.tpot.count(), 0.020 * 3, 1e-12);
}

TEST(MeasuredCurve, LiesBetweenTheCurvesOfShorterAndLongerPrompts) {
  const MeasuredCurve curve{{point(1000, 1, 0.010), point(3000, 1, 0.040)}};
  EXPECT_NEAR(curve.tpot({2000, 100, 1}, linear).tpot.count(), std::sqrt(0.010 * 0.040), 1e-12);
  EXPECT_FALSE(curve.tpot({2000, 100, 1}, linear).extrapolated);
}

TEST(MeasuredSpeed, ReadsDeepSeekR1OffItsPoints) {
  const SpeedAnswer measured = answer("DeepSeek-R1", "8xMI300X", 8192, 16);
  EXPECT_EQ(measured.estimate.basis.tier, SpeedTier::kMeasured);
  EXPECT_TRUE(measured.loop.measured);
  EXPECT_FALSE(measured.loop.extrapolated);
  EXPECT_NEAR(measured.loop.tpot.count(), 0.02889, 1e-9);
  EXPECT_LT(*measured.estimate.basis.tpot_error, 0.10) << "of the profile fitted to them";
  EXPECT_TRUE(answer("DeepSeek-R1", "8xMI300X", 100'000, 16).loop.extrapolated);
}

TEST(MeasuredSpeed, KimiK3StreamsAndAggregatesAreThePublishedOnes) {
  struct Published {
    const char* text;
    double stream, aggregate, per_device;
  };
  for (const auto& [text, stream, aggregate, per_device] :
       {Published{"MI355X:tp8", 118, 952, 119}, Published{"B200:2x8:tp16", 90, 498, 31},
        Published{"B300:tp8:dcp8", 172, 1568, 196}}) {
    const SpeedAnswer one = answer("Kimi-K3", text, 1, 1);
    EXPECT_NEAR(one.stream(), stream, 0.1) << text;
    const SpeedProfile& profile = one.estimate.profile;
    EXPECT_NEAR(1e6 / profile.step(1e6, 0).count(), aggregate, 1) << text;
    EXPECT_NEAR(aggregate / named("Kimi-K3", text).parallelism.devices(), per_device, 0.5) << text;
  }
}

TEST(MeasuredSpeed, KimiK3PrefillsALongPromptAsPublished) {
  const auto seconds = [](const MeasuredDeployment& measured) {
    const NamedDeployment mi355x = named("Kimi-K3", "MI355X:tp8");
    return estimate_from(measured, estimate_speed(mi355x.placement())).profile.prefill(172'000, 0).count();
  };
  std::vector<double> by_software;
  for (const MeasuredDeployment& each : measured_deployments())
    if (each.model == "Kimi-K3" && each.device == "MI355X") by_software.push_back(seconds(each));
  ASSERT_EQ(by_software.size(), 2);
  EXPECT_NEAR(by_software[0], 51, 0.5) << "generic kernel";
  EXPECT_NEAR(by_software[1], 13, 0.5) << "MLA kernel, 13k tok/s";
  EXPECT_NEAR(answer("Kimi-K3", "MI355X:tp8", 172'000, 1).prefill.count(), 13, 0.5) << "the latest is used";
  EXPECT_NEAR(answer("Kimi-K3", "B300:tp8:dcp8", 172'000, 1).prefill.count(), 23, 0.5);
}

TEST(MeasuredSpeed, DSparkOnKimiK3GainsWhatWasMeasured) {
  const SpeedProfile plain = answer("Kimi-K3", "MI355X:tp8", 1, 1).estimate.profile;
  const SpeedProfile drafted = answer("Kimi-K3", "MI355X:tp8:dspark2", 1, 1).estimate.profile;
  const auto gain = [&](double batch) { return plain.step(batch, 0) / drafted.step(batch, 0); };
  EXPECT_NEAR(gain(1), 2.2, 0.01);
  EXPECT_NEAR(gain(5), 1.7, 0.05) << "a moderate load";
  EXPECT_NEAR(gain(1e6), 1.18, 0.01);
  // Acceptance lengths alone say 2.3 for the single stream: 2.45 accepted for 5/93 of a step more.
  const Speculation speculation = *named("Kimi-K3", "MI355X:tp8:dspark2").speculation;
  EXPECT_NEAR(plain.step(1, 0) / with_speculation(plain, speculation).step(1, 0), 2.3, 0.05);
}

TEST(MeasuredSpeed, DeepSeekV4FlashIsOnOneMi300xInTwoSoftwareVersions) {
  const NamedDeployment one = named("DeepSeek-V4-Flash", "MI300X");
  std::vector<double> streams;
  for (const MeasuredDeployment& each : measured_deployments()) {
    if (each.model != "DeepSeek-V4-Flash") continue;
    streams.push_back(1 / estimate_from(each, estimate_speed(one.placement())).profile.step(1, 0).count());
  }
  EXPECT_THAT(streams,
              testing::ElementsAre(testing::DoubleNear(20.7, 0.01), testing::DoubleNear(58.9, 0.01)));
  const SpeedAnswer latest = answer("DeepSeek-V4-Flash", "MI300X", 4096, 1);
  EXPECT_EQ(latest.estimate.measured->aggregate, TokensPerSecond{2699});
  EXPECT_GE(latest.kv_pool.value, 0) << "its mixed FP4 and FP8 checkpoint fits one device";
}

TEST(Speculation, SpreadsAStepOverTheTokensItAccepts) {
  const SpeedProfile profile{.step_floor = 0.010,
                             .expert_weights = 0.020,
                             .per_sequence = 0.001,
                             .per_context_token = 1e-6,
                             .per_prompt_token = 0.0005,
                             .expert_share = 0.1};
  const SpeedProfile faster = with_speculation(profile, {.drafted = 2, .accepted = 2.5, .draft_share = 0.05});
  // 10 ms and 5 % for the draft, experts of three tokens, one more token's work for each drafted one, KV
  // once.
  const double step = 0.010 * 1.05 + 0.020 * (1 - std::pow(0.9, 3)) + 0.001 + 2 * 0.0005 + 1000 * 1e-6;
  EXPECT_NEAR(faster.step(1, 1000).count(), step / 2.5, 1e-12);
}

TEST(Acceptance, NeverExceedsWhatWasDraftedAndTheModelsOwnToken) {
  for (const AcceptanceTable& table : acceptance_tables())
    for (std::size_t drafted = 1; drafted <= table.accepted.size(); ++drafted) {
      EXPECT_GT(table.accepted[drafted - 1], 1) << table.model;
      EXPECT_LE(table.accepted[drafted - 1], static_cast<double>(drafted + 1)) << table.model;
    }
}

TEST(DeploymentText, SaysDevicesDegreesAndFormat) {
  EXPECT_EQ(named("Qwen3-32B", "mi300x").parallelism, Parallelism{});
  EXPECT_EQ(named("Qwen3-32B", "8xMI355X").parallelism, (Parallelism{.tp = 8}));
  EXPECT_EQ(named("Kimi-K3", "B200:2x8:tp16").parallelism, (Parallelism{.tp = 16}));
  EXPECT_EQ(named("Kimi-K3", "B300:TP8:DCP8").parallelism, (Parallelism{.tp = 8, .dcp = 8}));
  EXPECT_EQ(named("DeepSeek-R1", "B200:8x1:tp2:dp4:ep8").parallelism,
            (Parallelism{.tp = 2, .ep = 8, .dp = 4}));
  EXPECT_EQ(named("DeepSeek-R1", "8xB200:nvfp4:kv=fp8").format, NumberFormat::kNvfp4);
  EXPECT_EQ(named("DeepSeek-R1", "8xB200:nvfp4:kv=fp8").kv_format, KvFormat::kFp8);
  EXPECT_EQ(named("gpt-oss-120b", "B200").format, NumberFormat::kMxfp4) << "the publisher's own";
  EXPECT_EQ(named("Kimi-K3", "MI355X:tp8:dspark3").speculation->accepted, 2.87);
}

TEST(DeploymentText, RefusesWithTheReason) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("Qwen3-32B", "MI350Y"), HasSubstr("did you mean \"MI350X\"?"));
  EXPECT_THAT(refusal("Qwen3-32B", "8xMI355X:tp4"), HasSubstr("8 devices are not tp 4 x pp 1 x dp 1"));
  EXPECT_THAT(refusal("Kimi-K3", "MI355X:tp7"), HasSubstr("tp 7 does not divide the 96 attention heads"));
  EXPECT_THAT(refusal("Qwen3-32B", "MI355X:tp8:dcp8"), HasSubstr("splits copies of the KV cache"));
  EXPECT_THAT(refusal("Qwen3-32B", "8xMI355X:ep8"), HasSubstr("has no experts"));
  EXPECT_THAT(refusal("Qwen3-32B", "MI355X:tp0"), HasSubstr("\"tp0\" is none of"));
  EXPECT_THAT(refusal("Qwen3-32B", "MI355X:fast"), HasSubstr("\"fast\" is none of"));
  EXPECT_THAT(refusal("DeepSeek-R1", "8xMI300X:nvfp4"), HasSubstr("wrongly"));
  EXPECT_THAT(refusal("Qwen3-32B", "MI355X:mtp2"), HasSubstr("no acceptance lengths"));
  EXPECT_THAT(refusal("Kimi-K3", "MI355X:tp8:dspark9"), HasSubstr("at most 8"));
}

}  // namespace
}  // namespace fareway
