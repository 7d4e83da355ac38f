#include "placement/simulation/engine_model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

namespace fareway::simulation {
namespace {

/// Share of the KV cache kept free when a request is admitted, so that it is not preempted at once by the
/// growth of the others; vLLM's watermark.
constexpr double kWatermark = 0.01;

}  // namespace

EngineModel::EngineModel(const EngineParameters& parameters) : parameters_(parameters) {}

void EngineModel::submit(const EngineRequest& request, SimTime now) {
  assert(request.output >= 1 && request.prompt >= 1);
  assert(request.prompt + request.output <= parameters_.kv_tokens);
  if (idle()) clock_ = std::max(clock_, now);
  Slot slot{};
  if (free_.empty()) {
    slot = static_cast<Slot>(sequences_.size());
    sequences_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  sequences_[slot] = Sequence{.request = request, .state = State::kWaiting};
  waiting_.push_back(slot);
}

void EngineModel::advance(SimTime until) {
  while (clock_ < until && !idle()) {
    make_room();
    const bool admits = !waiting_.empty() && can_admit(sequences_[waiting_.front()]);
    if (!prefilling_.empty() || admits) {
      mixed_step();
    } else {
      decode_run(until);
    }
  }
}

std::span<const EngineEvent> EngineModel::take_events(SimTime until) {
  const auto later =
      std::ranges::find_if(events_, [until](const EngineEvent& event) { return event.time > until; });
  taken_.assign(events_.begin(), later);
  events_.erase(events_.begin(), later);
  return taken_;
}

std::int64_t EngineModel::generated(const Sequence& sequence) const {
  return sequence.recompute + 1 + (steps_ - sequence.first_step);
}

bool EngineModel::can_admit(const Sequence& sequence) const {
  if (running_ == 0) return true;
  const double limit = (1 - kWatermark) * static_cast<double>(parameters_.kv_tokens);
  return running_ < parameters_.seats && static_cast<double>(kv_used_ + sequence.to_prefill()) <= limit;
}

void EngineModel::admit_next() {
  const Slot slot = waiting_.front();
  waiting_.pop_front();
  Sequence& sequence = sequences_[slot];
  const auto held = static_cast<std::int64_t>(cache_.held(sequence.request.blocks)) * kTraceBlockTokens;
  // The last token is always computed: its logits make the first token of the answer.
  sequence.cached = std::min(held, sequence.request.prompt - 1);
  sequence.computed = sequence.cached;
  sequence.state = State::kPrefilling;
  sequence.admitted = ++admissions_;
  ++running_;
  kv_used_ += sequence.to_prefill();
  prefilling_.push_back(slot);
}

/// Fills what decodes leave of the step's token budget, oldest first; each prompt as far as it goes.
EngineModel::PrefillWork EngineModel::schedule_prefill() {
  std::int64_t budget = std::max<std::int64_t>(parameters_.chunk - decoding_, 1);
  PrefillWork work;
  for (std::size_t i = 0; budget > 0; ++i) {
    if (i == prefilling_.size()) {
      if (waiting_.empty() || !can_admit(sequences_[waiting_.front()])) break;
      admit_next();
    }
    Sequence& sequence = sequences_[prefilling_[i]];
    const std::int64_t tokens = std::min(budget, sequence.to_prefill() - sequence.computed);
    work.seconds +=
        parameters_.speed.prefill(static_cast<double>(tokens), static_cast<double>(sequence.computed))
            .count();
    sequence.computed += tokens;
    work.tokens += tokens;
    budget -= tokens;
  }
  return work;
}

void EngineModel::mixed_step() {
  const PrefillWork work = schedule_prefill();
  clock_ += parameters_.speed
                .mixed_step(static_cast<double>(decoding_), static_cast<double>(context_),
                            static_cast<double>(work.tokens))
                .count() +
            work.seconds;
  prompt_tokens_computed_ += work.tokens;
  count_decode_steps(1);
  finish_due();
  complete_prefills();
}

/// As many decode steps as are alike: until one finishes, memory runs out, or one begins at or after `until`.
void EngineModel::decode_run(SimTime until) {
  assert(decoding_ > 0);  // what nothing else delays is admitted
  const double first_step =
      parameters_.speed.step(static_cast<double>(decoding_), static_cast<double>(context_)).count();
  const std::int64_t to_finish = finishes_.front().step - steps_;
  const std::int64_t to_full = (parameters_.kv_tokens - kv_used_) / decoding_;
  const std::int64_t steps =
      std::max<std::int64_t>(1, std::min({to_finish, to_full, steps_within(until - clock_, first_step)}));
  const auto n = static_cast<double>(steps);
  clock_ +=
      n * first_step + parameters_.speed.per_context_token * static_cast<double>(decoding_) * n * (n - 1) / 2;
  count_decode_steps(steps);
  finish_due();
}

/// Smallest n whose n steps last at least `seconds`: n·first + growth·n(n − 1)/2 >= seconds.
std::int64_t EngineModel::steps_within(double seconds, double first_step) const {
  const double growth = parameters_.speed.per_context_token * static_cast<double>(decoding_);
  const double linear = first_step - growth / 2;
  const double n = growth > 0 ? 2 * seconds / (linear + std::sqrt(linear * linear + 2 * growth * seconds))
                              : seconds / first_step;
  return static_cast<std::int64_t>(std::min(std::ceil(n), 1e15));
}

void EngineModel::count_decode_steps(std::int64_t steps) {
  const std::int64_t tokens = steps * decoding_;
  steps_ += steps;
  context_ += tokens;
  generated_held_ += tokens;
  kv_used_ += tokens;
  tokens_generated_ += tokens;
}

void EngineModel::complete_prefills() {
  while (!prefilling_.empty()) {
    const Slot slot = prefilling_.front();
    Sequence& sequence = sequences_[slot];
    if (sequence.computed < sequence.to_prefill()) break;
    prefilling_.pop_front();
    hold_prefix(sequence);
    sequence.state = State::kDecoding;
    sequence.first_step = steps_;
    sequence.finish_step = steps_ + sequence.request.output - sequence.recompute - 1;
    ++decoding_;
    ++tokens_generated_;
    ++kv_used_;
    context_ += sequence.to_prefill() + 1;
    generated_held_ += sequence.recompute + 1;
    if (!sequence.first_token_seen) {
      sequence.first_token_seen = true;
      events_.push_back({clock_, sequence.request.id, EngineEvent::Kind::kFirstToken, sequence.cached});
    }
    if (sequence.finish_step == steps_) {
      finish(slot);
      continue;
    }
    finishes_.push_back({sequence.finish_step, sequence.admitted, slot});
    std::ranges::push_heap(finishes_, std::greater<>{});
  }
}

void EngineModel::finish_due() {
  while (!finishes_.empty()) {
    const Finish next = finishes_.front();
    const Sequence& sequence = sequences_[next.slot];
    const bool stale = sequence.state != State::kDecoding || sequence.admitted != next.admitted;
    if (!stale && next.step > steps_) break;
    std::ranges::pop_heap(finishes_, std::greater<>{});
    finishes_.pop_back();
    if (!stale) finish(next.slot);
  }
}

void EngineModel::finish(Slot slot) {
  Sequence& sequence = sequences_[slot];
  const std::int64_t held = sequence.request.prompt + sequence.request.output;
  kv_used_ -= held;
  context_ -= held;
  generated_held_ -= sequence.request.output;
  --decoding_;
  --running_;
  hold_prefix(sequence);
  events_.push_back({clock_, sequence.request.id, EngineEvent::Kind::kFinished, sequence.cached});
  sequence.state = State::kFree;
  free_.push_back(slot);
}

/// Before a step that would overflow the KV cache, the youngest sequences give theirs up.
void EngineModel::make_room() {
  while (kv_used_ + decoding_ > parameters_.kv_tokens && running_ > 1) preempt(youngest());
  finish_due();
}

EngineModel::Slot EngineModel::youngest() const {
  Slot slot = 0;
  std::uint64_t latest = 0;
  for (Slot i = 0; i < sequences_.size(); ++i) {
    const Sequence& sequence = sequences_[i];
    const bool runs = sequence.state == State::kPrefilling || sequence.state == State::kDecoding;
    if (!runs || sequence.admitted <= latest) continue;
    latest = sequence.admitted;
    slot = i;
  }
  return slot;
}

void EngineModel::preempt(Slot slot) {
  Sequence& sequence = sequences_[slot];
  if (sequence.state == State::kDecoding) {
    const std::int64_t tokens = generated(sequence);
    kv_used_ -= sequence.request.prompt + tokens;
    context_ -= sequence.request.prompt + tokens;
    generated_held_ -= tokens;
    --decoding_;
    sequence.recompute = tokens;
  } else {
    kv_used_ -= sequence.to_prefill();
    std::erase(prefilling_, slot);
  }
  sequence.state = State::kWaiting;
  sequence.admitted = 0;
  --running_;
  ++preemptions_;
  waiting_.push_front(slot);
}

/// Prompt blocks stay cached as far as memory allows; the blocks of answers are unknown to the traces.
void EngineModel::hold_prefix(const Sequence& sequence) {
  const std::int64_t room = std::max<std::int64_t>(parameters_.kv_tokens - generated_held_, 0);
  cache_.hold(sequence.request.blocks, static_cast<std::size_t>(room / kTraceBlockTokens));
}

}  // namespace fareway::simulation
