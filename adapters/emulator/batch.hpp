#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "adapters/emulator/kv_pool.hpp"
#include "placement/model/deployment.hpp"

namespace fareway::emulator {

using SequenceId = std::uint64_t;

/// One sequence to generate.
struct Sequence {
  Tokens prompt;  ///< at least 1
  Tokens output;  ///< 0 (embeddings): it ends when the prompt has been processed
  std::vector<BlockKey>
      blocks;  ///< keys of the full blocks of its text, prompt first, then the output to come
};

struct BatchLimits {
  Tokens kv_pool;
  Tokens state_per_sequence;  ///< constant recurrent state, in tokens' worth of KV
  Tokens context;             ///< prompt + output of one sequence; never more than the pool holds
  std::uint32_t seats{};
  Tokens chunk;  ///< tokens one step may process
  SpeedProfile speed;
};

/// Throws std::invalid_argument where nothing can run: no KV pool, no seats, no chunk.
BatchLimits limits_of(const Deployment& deployment);

struct BatchEvent {
  enum class Kind { kFirstToken, kToken, kFinished };
  SequenceId id{};
  Kind kind{};
  Seconds at{};
  Tokens cached;  ///< prompt tokens that were not computed, as found when the sequence was first admitted
};

/// What /metrics tells. Counters count from the start.
struct BatchLoad {
  std::int64_t running{};
  std::int64_t waiting{};
  Tokens kv_used;
  Tokens kv_pool;
  Tokens prompt_tokens;
  Tokens generated_tokens;
  Tokens prefix_queries;
  Tokens prefix_hits;
  std::int64_t preemptions{};
};

/// One engine's scheduler: continuous batching with chunked prefill, in discrete steps.
///
/// A step processes at most `chunk` tokens: one for each decoding sequence, and what is left of the budget
/// goes to prompts in order of arrival. It takes
///     SpeedProfile::mixed_step(b, K, n) + Σ prefill(chunk, done)
/// and at its end every sequence whose text is all processed has one more token. A waiting sequence is
/// admitted when a seat is free and its whole prompt fits the KV pool; where decoding outgrows the pool, the
/// sequence admitted last is put back to the head of the queue and computed anew.
///
/// Pure: time is handed in as seconds since the engine started, and must not run backwards. Not thread-safe.
class Batch {
 public:
  explicit Batch(BatchLimits limits);

  /// Nothing where prompt + output can never fit, or the prompt is empty.
  std::optional<SequenceId> submit(Sequence sequence, Seconds now);
  /// Frees its seat and KV at once; the step under way takes as long as it would have. An unknown id is
  /// ignored.
  void cancel(SequenceId id);
  /// Ends every step that is over by `now`, starting the next one where the last one ended; events in order
  /// of time.
  std::vector<BatchEvent> advance(Seconds now);
  /// End of the step under way; nothing where the engine idles.
  std::optional<Seconds> next_event_time() const { return step_end_; }

  BatchLoad load() const;
  const BatchLimits& limits() const { return limits_; }

 private:
  struct Job {
    SequenceId id{};
    Sequence sequence;
    Seconds arrived{};
    Tokens computed;   ///< tokens whose KV is there
    Tokens scheduled;  ///< tokens in the step under way
    Tokens reserved;   ///< tokens the lease has room for
    Tokens generated;
    bool finished{false};
    std::optional<Tokens> cached;  ///< nothing before the first admission
    KvPool::Lease kv;

    Tokens total() const { return sequence.prompt + generated; }
    bool decoding() const { return generated.value > 0 && computed + Tokens{1} == total(); }
  };

  void begin_step(Seconds at);
  /// Gives running jobs their tokens; false where that took a preemption.
  bool schedule_running(Tokens& budget);
  void admit_waiting(Tokens budget, Seconds at);
  void preempt_last();
  Seconds step_duration() const;
  void end_step(Seconds at, std::vector<BatchEvent>& events);
  /// The job's text is all processed: its next token, and the end where that was the last.
  void produce(Job& job, Seconds at, std::vector<BatchEvent>& events);

  BatchLimits limits_;
  KvPool kv_;
  std::vector<Job> running_;  // in order of admission
  std::deque<Job> waiting_;   // in order of arrival, preempted jobs first
  std::optional<Seconds> step_end_;
  SequenceId last_id_{0};
  BatchLoad counters_;
};

}  // namespace fareway::emulator
