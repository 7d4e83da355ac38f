#include "placement/prefill_watch.hpp"

#include <algorithm>

namespace fareway {

void PrefillWatch::queue_is(bool empty, TimePoint now) {
  if (empty == !busy_) return;
  busy_ = !empty;
  if (busy_) {
    busy_since_ = began_ = last_computed_ = now;
    run_ = {.from_idle = true};
    return;
  }
  was_busy_ += now - busy_since_;
  spoiled_ = false;
}

void PrefillWatch::computed(double uncached, double cached, Seconds step, double chunk_room, TimePoint now) {
  // First tokens that come together are of prompts that shared a step.
  const bool same_step = run_.tokens > 0 && Seconds{now - last_computed_} < step / 2;
  run_.steps += std::max(same_step ? 0.0 : 1.0, uncached / std::max(chunk_room, 1.0));
  run_.tokens += uncached;
  run_.pairs += uncached * (cached + uncached / 2);
  last_computed_ = now;
}

std::optional<PrefillRun> PrefillWatch::take(TimePoint now) {
  PrefillRun run = run_;
  run.lasted = now - began_;
  const bool known = busy_ && !spoiled_ && run.tokens > 0;
  began_ = now;
  run_ = {};
  return known ? std::optional(run) : std::nullopt;
}

Seconds PrefillWatch::take_busy(TimePoint now) {
  Seconds busy = was_busy_;
  if (busy_) busy += now - busy_since_;
  was_busy_ = {};
  busy_since_ = now;
  return busy;
}

}  // namespace fareway
