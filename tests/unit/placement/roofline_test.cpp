// What a step asks of the hardware, and the fits that say how far real engines are from it.
#include "placement/speed/roofline.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "placement/catalogue/calibrations.hpp"
#include "placement/catalogue/catalogue.hpp"
#include "placement/speed/calibration_fit.hpp"
#include "placement/speed/closed_loop.hpp"
#include "placement/speed/least_squares.hpp"
#include "placement/speed/speed_estimate.hpp"

namespace fareway {
namespace {

/// A device without losses, so that the published heuristics (bytes over bandwidth) come out bare.
Device ideal(double terabytes_per_second, double collective_microseconds = 0) {
  return {.name = "ideal",
          .hbm = {80 * kGibibyte},
          .hbm_bandwidth = {terabytes_per_second * 1e12},
          .bandwidth_efficiency = 1,
          .bf16_flops = {1e15},
          .fp8_flops = {2e15},
          .compute_efficiency = 1,
          .link_bandwidth = {450e9},
          .link_pairwise = {},
          .collective_latency = Seconds{collective_microseconds * 1e-6},
          .layer_overhead = Seconds{0}};
}

Model dense() {
  return {.name = "dense",
          .total_parameters = 27'000'000'000,
          .active_parameters = 27'000'000'000,
          .layers = 64,
          .hidden_size = 5120,
          .kv_heads = 4,
          .kv_per_token = {65'536}};
}

constexpr Bytes kWeights{54'000'000'000};

/// Data sheet and efficiencies alone.
SpeedProfile by_data_sheet(const Model& model, const Device& device, Parallelism parallelism = {}) {
  const Placement placement{
      .model = model, .device = device, .parallelism = parallelism, .weights = kWeights};
  return calibrated_profile(roofline_terms(placement), data_sheet_calibration(device));
}

double floor_tokens_per_second(const Device& device, Parallelism parallelism = {}) {
  return 1 / by_data_sheet(dense(), device, parallelism).step_floor;
}

// Published decode heuristic, batch 1, 54 GB checkpoint: 98, 62 and 148 tokens/s at 5.3, 3.35 and 8 TB/s.
TEST(Roofline, ReproducesThePublishedBatchOneHeuristic) {
  EXPECT_NEAR(floor_tokens_per_second(ideal(5.3)), 98, 1);
  EXPECT_NEAR(floor_tokens_per_second(ideal(3.35)), 62, 1);
  EXPECT_NEAR(floor_tokens_per_second(ideal(8)), 148, 1);
}

// Published: two 80 GB devices in TP take 8.1 ms a step, 124 tokens/s; 107 with two all-reduces in each of 64
// layers.
TEST(Roofline, ReproducesThePublishedTensorParallelPair) {
  EXPECT_NEAR(floor_tokens_per_second(ideal(3.35), {.tp = 2}), 124, 1);
  EXPECT_NEAR(floor_tokens_per_second(ideal(3.35, 10), {.tp = 2}), 107, 1);
}

TEST(Roofline, ReadsOnlyTheExpertsThatABatchPicks) {
  Model sparse = dense();
  sparse.active_parameters = 3'000'000'000;
  sparse.experts = 128;
  sparse.experts_per_token = 8;
  const SpeedProfile profile = by_data_sheet(sparse, ideal(5));
  // X = (27 − 3)/(1 − 8/128) = 25.6 billion routed parameters of 27: step(∞) reads all 54 GB.
  EXPECT_NEAR(profile.expert_weights, 25.6 / 27 * 54e9 / 5e12, 1e-9);
  EXPECT_NEAR(profile.step_floor + profile.expert_weights, 54e9 / 5e12, 1e-9);
  const double one = profile.step(1, 0).count() - profile.per_sequence;
  EXPECT_NEAR(one, 6e9 / 5e12, 1e-9) << "batch 1 reads the 3 billion active parameters, 6 GB";
}

TEST(Roofline, PipelineStagesFollowOneAnotherForAStreamAndWorkAtOnceForABatch) {
  const Device device = ideal(5);
  const SpeedProfile one = by_data_sheet(dense(), device);
  const SpeedProfile two = by_data_sheet(dense(), device, {.pp = 2});
  EXPECT_DOUBLE_EQ(two.step_floor, one.step_floor) << "each token still reads all weights, stage by stage";
  EXPECT_DOUBLE_EQ(two.per_context_token, one.per_context_token / 2);
  EXPECT_DOUBLE_EQ(two.per_prompt_token, one.per_prompt_token / 2);
}

TEST(Roofline, AnEmulatedFormatComputesAtTheBf16Peak) {
  Device device = ideal(5);
  const Placement placement{.model = *find_model("Qwen3-32B"),
                            .device = device,
                            .format = NumberFormat::kMxfp4,
                            .weights = kWeights};
  const double emulated = roofline_terms(placement).token_compute;
  device.native_mxfp4 = true;
  device.fp4_flops = {4e15};
  EXPECT_DOUBLE_EQ(emulated, 4 * roofline_terms(placement).token_compute);
}

LeastSquaresRow row(double a, double b, double target) {
  return {.coefficients = {a, b}, .target = target};
}

TEST(BoundedLeastSquares, FindsTheExactSolutionWhereThereIsOne) {
  const std::vector rows{row(1, 0, 2), row(1, 1, 5), row(2, 1, 7)};
  const Coefficients x = bounded_least_squares(rows, {});
  EXPECT_NEAR(x[0], 2, 1e-9);
  EXPECT_NEAR(x[1], 3, 1e-9);
  EXPECT_EQ(x[2], 0) << "no row has a word to say about it";
}

TEST(BoundedLeastSquares, KeepsToTheFloorWhatWouldFallBelow) {
  // Unbounded: x = (3, −1). On x1 ≥ 0 the best is x0 = (1·2 + 2·5)/(1 + 4) with x1 = 0.
  const std::vector rows{row(1, 1, 2), row(2, 1, 5)};
  EXPECT_NEAR(bounded_least_squares(rows, {})[0], 2.4, 1e-9);
  EXPECT_EQ(bounded_least_squares(rows, {})[1], 0);
  // On x1 ≥ 0.5: x0 = (1·1.5 + 2·4.5)/5.
  EXPECT_NEAR(bounded_least_squares(rows, {0, 0.5})[0], 2.1, 1e-9);
  EXPECT_EQ(bounded_least_squares(rows, {0, 0.5})[1], 0.5);
}

TEST(BoundedLeastSquares, DoesNotDivideWhatTheRowsCannotTellApart) {
  const std::vector rows{row(1, 2, 4), row(2, 4, 8)};
  const Coefficients x = bounded_least_squares(rows, {});
  EXPECT_NEAR(x[0] + 2 * x[1], 4, 1e-9);
  EXPECT_TRUE(x[0] == 0 || x[1] == 0);
}

constexpr Calibration kTruth{.weights = 1.3,
                             .kv = 1.1,
                             .collectives = 2,
                             .layer_overhead = 40e-6,
                             .sequence_overhead = 20e-6,
                             .compute = 2.5,
                             .first_token = 0.08};

/// DeepSeek-R1 on eight H200 as a perfect engine of `kTruth` would serve it.
std::vector<Observation> perfect_benchmark() {
  std::vector<Observation> rows;
  for (const std::uint32_t tp : {4U, 8U})
    for (const auto& [input, output] : {std::pair{1024.0, 1024.0}, {8192.0, 1024.0}, {1024.0, 8192.0}})
      for (const double concurrency : {1.0, 4.0, 16.0, 64.0}) {
        const Placement placement{.model = *find_model("DeepSeek-R1"),
                                  .device = *find_device("H200"),
                                  .parallelism = {.tp = tp},
                                  .format = NumberFormat::kFp8,
                                  .weights = {672'985'186'304}};
        Observation each{
            .terms = roofline_terms(placement),
            .load = {.input_tokens = input, .output_tokens = output, .concurrency = concurrency}};
        const SpeedProfile profile = calibrated_profile(each.terms, kTruth);
        each.tpot = loaded_tpot(profile, each.load);
        each.ttft = cold_ttft(profile, Seconds{kTruth.first_token}, input);
        rows.push_back(each);
      }
  return rows;
}

TEST(CalibrationFit, RecoversWhatMadeTheMeasurements) {
  const Calibration found = fit_calibration(perfect_benchmark());
  EXPECT_NEAR(found.weights, kTruth.weights, 1e-4);
  EXPECT_NEAR(found.kv, kTruth.kv, 1e-4);
  EXPECT_NEAR(found.collectives, kTruth.collectives, 1e-3);
  EXPECT_NEAR(found.layer_overhead, kTruth.layer_overhead, 1e-7);
  EXPECT_NEAR(found.sequence_overhead, kTruth.sequence_overhead, 1e-7);
  EXPECT_NEAR(found.compute, kTruth.compute, 1e-3);
  EXPECT_NEAR(found.first_token, kTruth.first_token, 1e-4);
}

TEST(CalibrationFit, HoldOutPredictsEveryPointOnceFromTheOthers) {
  std::vector<Observation> rows = perfect_benchmark();
  EXPECT_LT(hold_out(rows).tpot.p90, 1e-4);
  EXPECT_EQ(hold_out(rows).tpot.points, rows.size());
  EXPECT_EQ(hold_out(rows).ttft.points, rows.size() / 2) << "only at four clients and fewer";
  rows[5].tpot *= 2;  // one measurement that nothing explains
  EXPECT_GT(hold_out(rows).tpot.p90, 0.001);
}

TEST(CalibrationFit, LeavingOutOneAtATimeLetsNoPointExcuseItself) {
  std::vector<Observation> rows = perfect_benchmark();
  rows.resize(6);  // about as many as there are multipliers
  rows[5].tpot *= 2;
  const double met = relative_error(tpot_errors(rows, fit_calibration(rows))).p90;
  const HoldOut left_out = hold_out(rows, rows.size());
  EXPECT_EQ(left_out.tpot.points, rows.size());
  EXPECT_GT(left_out.tpot.p90, met);
  EXPECT_GT(left_out.tpot.p90, 0.3) << "half of what was measured, as its neighbours know";
}

TEST(CalibrationFit, NothingComputesFasterThanItsPeak) {
  std::vector<Observation> rows = perfect_benchmark();
  for (Observation& each : rows) {
    each.tpot /= 100;
    *each.ttft /= 100;
  }
  EXPECT_GE(fit_calibration(rows).compute, 1);
}

TEST(RelativeError, IsMedianAndNinetiethPercentile) {
  const RelativeError error = relative_error({0.5, 0.1, 0.3, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 0.0});
  EXPECT_EQ(error.median, 0.5);
  EXPECT_EQ(error.p90, 0.9);
  EXPECT_EQ(error.points, 11);
  EXPECT_EQ(relative_error({}).points, 0);
}

TEST(ClosedLoop, PrefillsOfOthersComeBetweenTheSteps) {
  const SpeedProfile profile{.step_floor = 0.010, .per_context_token = 1e-8, .per_prompt_token = 1e-5};
  // Step: 10 ms + 4 × (1,000 + 50) × 10 ns = 10.042 ms. A prefill of 10 ms comes every 100 / 4 steps: 0.4 ms.
  const ClosedLoop load{.input_tokens = 1000, .output_tokens = 100, .concurrency = 4};
  EXPECT_NEAR(loaded_tpot(profile, load).count(), 0.010442, 1e-12);
  // TTFT: 50 ms + 10 ms + one step of 10.01 ms; the request: that and 99 × TPOT.
  EXPECT_NEAR(cold_ttft(profile, Seconds{0.05}, 1000).count(), 0.07001, 1e-12);
  EXPECT_NEAR(output_tokens_per_second(profile, Seconds{0.05}, load), 400 / (0.07001 + 99 * 0.010442), 1e-9);
}

SpeedEstimate estimate(const char* model, const char* device, NumberFormat format, Parallelism parallelism) {
  const Model& found = *find_model(model);
  return estimate_speed({.model = found,
                         .device = *find_device(device),
                         .parallelism = parallelism,
                         .format = format,
                         .weights = found.checkpoint(format)->weights});
}

TEST(SpeedEstimate, TakesTheBestTierThatTheCatalogueHas) {
  EXPECT_EQ(estimate("DeepSeek-R1", "H200", NumberFormat::kFp8, {.tp = 8}).basis.tier, SpeedTier::kMeasured);

  const SpeedEstimate own = estimate("DeepSeek-R1", "H200", NumberFormat::kFp8, {.tp = 4});
  EXPECT_EQ(own.basis.tier, SpeedTier::kCalibrated);
  EXPECT_NE(own.basis.text.find("DeepSeek-R1 fp8 on H200"), std::string::npos) << own.basis.text;
  EXPECT_LT(*own.basis.tpot_error, 0.1);

  const SpeedEstimate pooled = estimate("Mixtral-8x22B", "H200", NumberFormat::kFp8, {.tp = 8});
  EXPECT_EQ(pooled.basis.tier, SpeedTier::kCalibrated);
  EXPECT_GT(*pooled.basis.tpot_error, *own.basis.tpot_error);

  EXPECT_EQ(estimate("Qwen3-32B", "L40S", NumberFormat::kFp8, {.tp = 2}).basis.tier, SpeedTier::kDataSheet);
}

TEST(SpeedEstimate, PartsOfAStepSumToTheStep) {
  const SpeedEstimate found = estimate("Qwen3.5-397B-A17B", "B200", NumberFormat::kFp8, {.tp = 8});
  for (const double batch : {1.0, 32.0})
    EXPECT_NEAR(step_parts(found, batch, batch * 8192).total().count(),
                found.profile.step(batch, batch * 8192).count(), 1e-12);
}

TEST(SpeedEstimate, PredictionsBeginWideAndWiderOnWorseGrounds) {
  EXPECT_EQ(initial_errors({.tier = SpeedTier::kMeasured}).widest().tpot, PredictionErrors{}.widest().tpot);
  EXPECT_EQ(initial_errors({.tpot_error_p90 = 0.05}).widest().tpot, PredictionErrors{}.widest().tpot);
  // Half of the truth is as far off as twice of it: ln 2 / 1.645.
  EXPECT_NEAR(initial_errors({.tpot_error_p90 = 0.5}).widest().tpot, std::log(2) / 1.645, 1e-12);
  EXPECT_EQ(initial_errors({.tpot_error_p90 = 5}).widest().tpot, 0.8);
}

TEST(Calibrations, AreOfTheCatalogueAndPhysical) {
  for (const CalibrationEntry& entry : calibrations()) {
    EXPECT_NE(find_device(entry.device), nullptr) << entry.device;
    EXPECT_TRUE(entry.model.empty() || find_model(entry.model) != nullptr) << entry.model;
    EXPECT_GE(entry.calibration.compute, 1) << entry.device << " " << entry.model;
    EXPECT_GT(entry.tpot.median, 0) << entry.device << " " << entry.model;
    EXPECT_LE(entry.tpot.median, entry.tpot.p90) << entry.device << " " << entry.model;
  }
}

}  // namespace
}  // namespace fareway
