#pragma once

#include "placement/model/capacity.hpp"
#include "placement/model/device.hpp"
#include "placement/model/model.hpp"
#include "placement/model/number_format.hpp"
#include "placement/model/speed.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What is asked of the hardware: a model in one format, spread over devices.
struct Placement {
  const Model& model;
  const Device& device;
  Parallelism parallelism;
  NumberFormat format{NumberFormat::kBf16};
  KvFormat kv_format{KvFormat::kBf16};
  Bytes weights;  ///< in all devices together
};

/// The work of one engine step at the data sheet's peaks, in seconds:
///     weights            bytes ÷ (devices × bandwidth); of routed experts only the share 1 − (1 − k/E)^batch
///     KV                 bytes of each token of context, copies included, ÷ the same
///     two collectives a layer: latency + 2(n − 1)/n × hidden × 2 B a token ÷ bus bandwidth of n ranks
///     arithmetic         2 FLOPs an active parameter and token, 4 × heads × head size × layers a pair of
///     tokens
/// Pipeline stages work one after the other on a stream and at once on many: a step of batch b over pp stages
/// is one of batch b/pp over a single stage's devices that reads all weights.
struct RooflineTerms {
  double fixed_weights{};       ///< s a step: weights that every step reads
  double routed_weights{};      ///< s a step that picks every expert
  double context_token{};       ///< s a token of context
  double sequence_state{};      ///< s a sequence: sliding windows (taken as full) and recurrent state
  double collective_latency{};  ///< s a step
  double collective_token{};    ///< s a token
  double layers{};              ///< count
  double token_compute{};       ///< s a token
  double pair_compute{};        ///< s a pair of (new, context) tokens
  double expert_share{1.0};     ///< k/E a sequence, pipeline stages counted
};
RooflineTerms roofline_terms(const Placement& placement);

/// How far real steps are from the terms. 1 is the data sheet; overheads are seconds.
struct Calibration {
  double weights{1};
  double kv{1};
  double collectives{1};
  double layer_overhead{};     ///< s a layer and step
  double sequence_overhead{};  ///< s a sequence and step
  double compute{1};
  double first_token{};  ///< s of every time to first token that the prompt's length does not explain
};

/// What can be said of a device that no fit exists for: its measured or inherited kernel efficiencies.
Calibration data_sheet_calibration(const Device& device);

SpeedProfile calibrated_profile(const RooflineTerms& terms, const Calibration& calibration);

}  // namespace fareway
