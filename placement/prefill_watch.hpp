#pragma once

#include <optional>

#include "pricing/base/units.hpp"

namespace fareway {

/// Prompts that a replica computed one after the other, with nothing else to prefill in between.
struct PrefillRun {
  double tokens{0};  ///< uncached ones
  double pairs{0};   ///< Σ n·h + n²/2, as in `SpeedProfile`
  double steps{0};   ///< engine steps they took at least: each also decodes
  Seconds lasted{};  ///< from the queue's first prompt, or from the run before, to the last first token
  bool from_idle{};  ///< began with an empty queue, so in the middle of a step of those who decode
};

/// Watches one replica's queue of prompts, so that prefill is measured as whole queues and decoding without
/// it.
///
/// One request's TTFT says little of prefill: it holds the prompts ahead, cut into chunks that others share.
/// What the queue as a whole was given and how long it took does. And a step can only be timed while no
/// prompt is in it, which is when the queue is empty. Not thread-safe; events in order of time.
class PrefillWatch {
 public:
  /// Whether prompts wait or are computed there from `now` on.
  void queue_is(bool empty, TimePoint now);
  /// The first token of one of them came at `now`. `step`: seconds of a step without prefill there;
  /// `chunk_room`: prompt tokens that one step takes.
  void computed(double uncached, double cached, Seconds step, double chunk_room, TimePoint now);
  /// When something's prompt was computed cannot be known (an answer that is not streamed, somebody else's
  /// request, one that was given up): nothing is measured until the queue has been empty.
  void spoil() { spoiled_ = true; }
  /// What was computed since the last call, if it ended at `now` with a first token; nothing where that
  /// cannot be known. Begins the next run.
  std::optional<PrefillRun> take(TimePoint now);

  /// Work so far, to see whether a run is long enough to take.
  const PrefillRun& so_far() const { return run_; }
  /// Seconds of those since the last call in which there were prompts to compute.
  Seconds take_busy(TimePoint now);

 private:
  bool busy_{false};
  bool spoiled_{false};
  TimePoint busy_since_;  ///< or since `take_busy`
  Seconds was_busy_{};
  TimePoint began_;
  TimePoint last_computed_;
  PrefillRun run_;
};

}  // namespace fareway
