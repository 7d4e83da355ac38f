#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/model/capacity.hpp"
#include "placement/model/device.hpp"
#include "placement/model/format_support.hpp"
#include "placement/model/model.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// What runtime, activations and graphs take of each device unless somebody knows better.
inline constexpr Bytes kDefaultReservePerDevice{8 * kGibibyte};

/// "Does this model fit those devices, and how many sessions of such a length?" Model and device outlive it.
struct CapacityQuestion {
  const Model* model{};
  const Device* device{};
  Checkpoint checkpoint;
  Parallelism parallelism;
  Bytes reserve_per_device{kDefaultReservePerDevice};
  double utilisation{1.0};  ///< see MemoryPlan
  KvFormat kv_format{KvFormat::kBf16};
  Tokens context;
  EngineBuild engine;
};

/// What is wrong with a question; `key` is the parameter's name ("tp", "context", "reserve").
struct QuestionProblem {
  std::string key;
  std::string what;
};

/// Degrees that this model cannot be split by: TP divides its heads and its KV heads (or is a multiple of
/// those), DCP only splits copies, EP needs experts, every pipeline stage needs a layer.
std::vector<QuestionProblem> parallelism_problems(const Model& model, const Parallelism& parallelism);
/// All that is wrong; only a question without problems may be answered.
std::vector<QuestionProblem> question_problems(const CapacityQuestion& question);

/// Bytes of weights in all devices together: DP ranks share the routed experts and hold a copy each of the
/// rest.
Bytes weights_in_group(const Model& model, Bytes one_copy, const Parallelism& parallelism);

/// One line of the whiteboard.
struct ArithmeticLine {
  std::string label;
  std::int64_t value{};
  std::string unit;     ///< "B", "tokens" or "sessions"
  std::string formula;  ///< in words and figures, for people
};

struct CapacityAnswer {
  FormatVerdict format;
  Capacity capacity;
  Bytes bytes_per_session;
  std::int64_t sessions{};
  Tokens longest_context;             ///< of one session; at most the model's limit
  std::optional<Bytes> missing;       ///< memory that one session lacks; nothing where one fits
  std::vector<std::string> remedies;  ///< what would fit, where this does not: "16 x B200 (tp 16)"
  std::vector<ArithmeticLine> lines;

  /// At least one session, in a format that the device computes right.
  bool fits() const { return sessions > 0 && format.support != FormatSupport::kWrong; }
};

/// `alternatives`: devices that remedies may name.
CapacityAnswer answer(const CapacityQuestion& question, std::span<const Device> alternatives);

/// The capacity alone: what `answer` explains.
Capacity capacity_of(const CapacityQuestion& question);

}  // namespace fareway
