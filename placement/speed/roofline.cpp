#include "placement/speed/roofline.hpp"

#include <algorithm>
#include <cmath>

#include "placement/model/format_support.hpp"

namespace fareway {
namespace {

constexpr double kActivationBytes = 2;      // bf16 between layers
constexpr double kFlopsPerParameter = 2;    // a multiply and an add
constexpr double kCollectivesPerLayer = 2;  // after attention, after the MLP

double as_double(Bytes size) {
  return static_cast<double>(size.value);
}

/// Peak of the units that multiply weights of this format: those of the format itself where the device has
/// them, else those it is expanded for.
FlopsPerSecond matmul_peak(const Device& device, NumberFormat format) {
  if (format_support(device, format) == FormatSupport::kEmulated) return device.bf16_flops;
  switch (format) {
    case NumberFormat::kBf16:
    case NumberFormat::kInt4:
      return device.bf16_flops;
    case NumberFormat::kMxfp4:
    case NumberFormat::kNvfp4:
      if (device.fp4_flops.value > 0) return device.fp4_flops;
      [[fallthrough]];
    case NumberFormat::kFp8:
    case NumberFormat::kFp8Fnuz:
      return device.fp8_flops.value > 0 ? device.fp8_flops : device.bf16_flops;
  }
  return device.bf16_flops;
}

/// Ranks that exchange activations in every layer: the TP group, or the expert group under DP attention.
std::uint32_t collective_ranks(const Parallelism& parallelism) {
  return parallelism.tp > 1 ? parallelism.tp : parallelism.ep;
}

void add_collectives(const Placement& placement, RooflineTerms& terms) {
  const std::uint32_t ranks = collective_ranks(placement.parallelism);
  if (ranks <= 1) return;
  const AllReduce all_reduce = placement.device.all_reduce(ranks);
  const double count = kCollectivesPerLayer * placement.model.layers;
  const double share = 2.0 * (ranks - 1) / ranks;
  terms.collective_latency = count * all_reduce.latency.count();
  if (all_reduce.bus_bandwidth.value <= 0) return;
  // Each DP rank sends the tokens of its own sequences only.
  terms.collective_token = count * share * placement.model.hidden_size * kActivationBytes /
                           all_reduce.bus_bandwidth.value / placement.parallelism.dp;
}

void add_reads(const Placement& placement, RooflineTerms& terms) {
  const Parallelism& parallelism = placement.parallelism;
  const double stage = static_cast<double>(parallelism.tp) * parallelism.dp;
  const double bandwidth = stage * placement.device.hbm_bandwidth.value;
  const double stages = parallelism.pp;
  const double weights = as_double(placement.weights) / bandwidth;
  const double routed = placement.model.expert_share_of_parameters();
  terms.fixed_weights = weights * (1 - routed);
  terms.routed_weights = weights * routed;
  const Capacity capacity = capacity_of(placement.model, placement.device, parallelism,
                                        {.weights = placement.weights, .kv_format = placement.kv_format});
  terms.context_token = as_double(capacity.kv_per_token) / bandwidth / stages;
  const double window = as_double(capacity.window_kv_per_token) * static_cast<double>(capacity.window.value);
  terms.sequence_state = (window + as_double(capacity.state_per_sequence)) / bandwidth / stages;
}

void add_arithmetic(const Placement& placement, RooflineTerms& terms) {
  const double devices = placement.parallelism.devices();
  const double matmul = devices * matmul_peak(placement.device, placement.format).value;
  const double attention = devices * placement.device.bf16_flops.value;
  terms.token_compute = kFlopsPerParameter * static_cast<double>(placement.model.active_parameters) / matmul;
  terms.pair_compute = static_cast<double>(placement.model.attention_flops_per_pair) / attention;
}

}  // namespace

RooflineTerms roofline_terms(const Placement& placement) {
  RooflineTerms terms;
  const Model& model = placement.model;
  terms.layers = model.layers;
  if (model.experts > 0) {
    const double share = static_cast<double>(model.experts_per_token) / model.experts;
    // Each stage sees every pp-th sequence: (1 − share)^(b/pp) = (1 − share')^b.
    terms.expert_share = 1 - std::pow(1 - share, 1.0 / placement.parallelism.pp);
  }
  add_reads(placement, terms);
  add_collectives(placement, terms);
  add_arithmetic(placement, terms);
  return terms;
}

Calibration data_sheet_calibration(const Device& device) {
  const double read = 1 / device.bandwidth_efficiency;
  return {.weights = read,
          .kv = read,
          .collectives = 1,
          .layer_overhead = device.layer_overhead.count(),
          .compute = 1 / device.compute_efficiency};
}

SpeedProfile calibrated_profile(const RooflineTerms& terms, const Calibration& calibration) {
  SpeedProfile profile;
  profile.step_floor = calibration.weights * terms.fixed_weights +
                       calibration.collectives * terms.collective_latency +
                       calibration.layer_overhead * terms.layers;
  profile.expert_weights = calibration.weights * terms.routed_weights;
  profile.per_prompt_token =
      calibration.compute * terms.token_compute + calibration.collectives * terms.collective_token;
  profile.per_sequence =
      profile.per_prompt_token + calibration.kv * terms.sequence_state + calibration.sequence_overhead;
  profile.per_context_token = calibration.kv * terms.context_token;
  profile.per_prompt_pair = calibration.compute * terms.pair_compute;
  profile.expert_share = terms.expert_share;
  return profile;
}

}  // namespace fareway
