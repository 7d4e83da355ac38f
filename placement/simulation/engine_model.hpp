#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "placement/model/deployment.hpp"
#include "placement/simulation/block_cache.hpp"

namespace fareway::simulation {

/// Seconds since the simulation began.
using SimTime = double;
using RequestId = std::uint32_t;

/// What an engine is told of a request. `blocks` must outlive the request.
struct EngineRequest {
  RequestId id{};
  std::int64_t prompt{};  ///< tokens
  std::int64_t output{};  ///< tokens it will generate, at least 1; the router does not know this
  std::span<const BlockId> blocks;
};

struct EngineEvent {
  enum class Kind : std::uint8_t { kFirstToken, kFinished };
  SimTime time{};
  RequestId request{};
  Kind kind{};
  std::int64_t cached{};  ///< prompt tokens found in the prefix cache
};

struct EngineParameters {
  SpeedProfile speed;
  std::uint32_t seats{256};
  std::int64_t chunk{8192};  ///< tokens one step may process
  std::int64_t kv_tokens{};  ///< context tokens all running sequences together may hold
};

/// An inference server as vLLM's scheduler runs one, in closed form: continuous batching, first come first
/// served, chunked prefill that shares steps with decodes, a prefix cache with least-recently-used
/// forgetting, and preemption by recompute of the youngest when the KV cache is full.
///
/// This is the truth a policy is judged by; it knows nothing of the router and its predictions. Steps with
/// prefill are simulated one by one; between them n equal decode steps are one event, because
/// Σ D(b, K + i·b) is quadratic in n. A sequence holds prompt + generated tokens of KV; prefixes that running
/// sequences share count once for each, which is on the safe side.
///
/// A step that has begun ends, so a request that comes in the middle waits for its boundary.
class EngineModel {
 public:
  explicit EngineModel(const EngineParameters& parameters);

  /// `now` must not go backwards over calls of `submit` and `advance`; prompt and output together must fit
  /// `kv_tokens`.
  void submit(const EngineRequest& request, SimTime now);
  /// Runs every step that begins before `until`.
  void advance(SimTime until);
  /// Events in order of time, up to and including `until`, and forgets them. Valid until the next call.
  std::span<const EngineEvent> take_events(SimTime until);

  /// Calls `visit(request, generated tokens)` for every sequence that decodes.
  template <class Visit>
  void progress(Visit visit) const {
    for (const Sequence& sequence : sequences_)
      if (sequence.state == State::kDecoding) visit(sequence.request.id, generated(sequence));
  }

  bool idle() const { return running_ == 0 && waiting_.empty(); }
  std::uint32_t running() const { return running_; }
  std::size_t waiting() const { return waiting_.size(); }
  std::int64_t kv_used() const { return kv_used_; }
  std::int64_t preemptions() const { return preemptions_; }
  std::int64_t prompt_tokens_computed() const { return prompt_tokens_computed_; }
  std::int64_t tokens_generated() const { return tokens_generated_; }

 private:
  using Slot = std::uint32_t;
  enum class State : std::uint8_t { kFree, kWaiting, kPrefilling, kDecoding };
  struct Sequence {
    EngineRequest request;
    State state{State::kFree};
    std::int64_t cached{};       // at the head of the prompt, when it was scheduled
    std::int64_t computed{};     // prompt tokens in KV, those cached included
    std::int64_t recompute{};    // tokens generated before a preemption, now part of what is prefilled
    std::int64_t first_step{};   // value of steps_ when it began to decode
    std::int64_t finish_step{};  // value of steps_ at which it has all its tokens
    std::uint64_t admitted{};    // order of admission: the largest is preempted first
    bool first_token_seen{false};
    std::int64_t to_prefill() const { return request.prompt + recompute; }
  };
  struct Finish {
    std::int64_t step{};
    std::uint64_t admitted{};
    Slot slot{};
    bool operator>(const Finish& other) const {
      return step != other.step ? step > other.step : admitted > other.admitted;
    }
  };
  struct PrefillWork {
    std::int64_t tokens{};
    double seconds{};
  };

  std::int64_t generated(const Sequence& sequence) const;
  bool can_admit(const Sequence& sequence) const;
  void admit_next();
  PrefillWork schedule_prefill();
  void mixed_step();
  void decode_run(SimTime until);
  std::int64_t steps_within(double seconds, double first_step) const;
  void count_decode_steps(std::int64_t steps);
  void complete_prefills();
  void finish_due();
  void finish(Slot slot);
  void make_room();
  void preempt(Slot slot);
  Slot youngest() const;
  void hold_prefix(const Sequence& sequence);

  EngineParameters parameters_;
  SimTime clock_{0};
  std::vector<Sequence> sequences_;
  std::vector<Slot> free_;
  std::deque<Slot> waiting_;
  std::deque<Slot> prefilling_;   // in order of admission
  std::vector<Finish> finishes_;  // min-heap; entries of preempted sequences are skipped
  std::int64_t steps_{0};         // decode steps done; every decoding sequence has a token of each
  std::int64_t decoding_{0};
  std::int64_t context_{0};  // tokens of context the decoding sequences hold
  std::int64_t generated_held_{0};
  std::int64_t kv_used_{0};  // context_ and what prefilling sequences reserved
  std::uint32_t running_{0};
  std::uint64_t admissions_{0};
  std::int64_t preemptions_{0};
  std::int64_t prompt_tokens_computed_{0};
  std::int64_t tokens_generated_{0};
  BlockCache cache_;
  std::vector<EngineEvent> events_;
  std::vector<EngineEvent> taken_;
};

}  // namespace fareway::simulation
