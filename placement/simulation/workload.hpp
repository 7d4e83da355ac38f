#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "placement/simulation/engine_model.hpp"
#include "pricing/base/index.hpp"

namespace fareway::simulation {

/// One request of a recorded or generated trace.
struct TraceRequest {
  double seconds{};  ///< since the trace began; ascending
  std::int64_t prompt{};
  std::int64_t output{};
  std::vector<BlockId> blocks;  ///< 512-token blocks of the prompt; empty where the trace has none
};

struct Trace {
  std::string name;
  std::vector<TraceRequest> requests;
  /// Requests a second over the whole trace.
  double rate() const;
};

/// How requests get their class. Both are published, because the rule moves the result.
enum class ClassRule {
  kBySession,  ///< 50 % interactive, 30 % standard, 20 % batch, by hash; interactive beyond 32k tokens is
               ///< standard
  kByLength,   ///< prompts under 4k tokens interactive, under 16k standard, else batch
  kAllInteractive
};

/// A request of a workload: what arrives at the router.
struct Arrival {
  SimTime time{};
  std::int64_t prompt{};
  std::int64_t output{};
  ClassIndex service_class;
  std::uint64_t session{};  ///< of a session: equal over its turns
  std::uint64_t tie_break{};
  std::span<const BlockId> blocks;  ///< owned by the workload
};

struct WorkloadOptions {
  double rate{};     ///< requests a second, all traces together
  double seconds{};  ///< how long requests arrive
  std::uint64_t seed{1};
  ClassRule class_rule{ClassRule::kBySession};
};

/// Arrivals in order of time. Moved, not copied: spans point into `blocks_`.
class Workload {
 public:
  /// The traces superposed, each at its own share of the rate. Gaps between arrivals are resampled from the
  /// trace in blocks of 50, which keeps its bursts, and scaled to the rate; contents follow in the trace's
  /// order, so that sessions stay sessions. A trace that ends begins again with new content (fresh block
  /// ids). Equal options give equal workloads; another rate or policy meets the same random numbers.
  Workload(std::span<const Trace> traces, const WorkloadOptions& options);
  Workload(Workload&&) = default;
  Workload& operator=(Workload&&) = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  ~Workload() = default;

  std::span<const Arrival> arrivals() const { return arrivals_; }
  const WorkloadOptions& options() const { return options_; }

 private:
  void add(const Trace& trace, std::uint64_t trace_number, double rate);

  WorkloadOptions options_;
  std::vector<Arrival> arrivals_;
  std::vector<std::vector<BlockId>> blocks_;
};

/// A trace without data files: Poisson arrivals of sessions, log-normal lengths, every session's next prompt
/// grows from its last one, and all share a system prompt. For tests and for trying the suite out.
struct GeneratedTrace {
  std::size_t requests{2000};
  double rate{2};              ///< requests a second
  double median_prompt{1500};  ///< tokens of the new part of a turn
  double prompt_spread{1.0};   ///< standard deviation of its logarithm
  double median_output{200};
  double output_spread{0.8};
  double turns{3};  ///< mean turns of a session
};
Trace generate_trace(const GeneratedTrace& options, std::uint64_t seed);

/// SplitMix64's finaliser (Vigna, public domain): every bit of `value` changes about half of the result's.
std::uint64_t mixed(std::uint64_t value);

}  // namespace fareway::simulation
