#include "adapters/emulator/batch.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fareway::emulator {
namespace {

double number(Tokens tokens) {
  return static_cast<double>(tokens.value);
}

}  // namespace

BatchLimits limits_of(const Deployment& deployment) {
  const Capacity& capacity = deployment.capacity;
  const Tokens longest = capacity.longest_sequence();
  if (longest.value < 1)
    throw std::invalid_argument("emulated deployment '" + deployment.name +
                                "' has no KV pool: give it more memory, or KV bytes per token");
  if (deployment.seats == 0 || deployment.chunk.value < 1)
    throw std::invalid_argument("emulated deployment '" + deployment.name +
                                "' needs seats and chunk of at least 1");
  const Tokens pool{capacity.kv_pool.value / capacity.kv_per_token.value};
  return {
      .kv_pool = pool,
      .state_per_sequence = pool - longest,
      .context = deployment.context_limit.value > 0 ? std::min(deployment.context_limit, longest) : longest,
      .seats = deployment.seats,
      .chunk = deployment.chunk,
      .speed = deployment.speed};
}

Batch::Batch(BatchLimits limits) : limits_(limits), kv_(limits.kv_pool) {
  limits_.context = std::min(limits.context, limits.kv_pool - limits.state_per_sequence);
}

std::optional<SequenceId> Batch::submit(Sequence sequence, Seconds now) {
  if (sequence.prompt.value < 1 || sequence.output.value < 0 ||
      sequence.prompt + sequence.output > limits_.context)
    return std::nullopt;
  Job& job = waiting_.emplace_back();
  job.id = ++last_id_;
  job.sequence = std::move(sequence);
  job.arrived = now;
  if (!step_end_) begin_step(now);
  return last_id_;
}

void Batch::cancel(SequenceId id) {
  const auto is_it = [id](const Job& job) { return job.id == id; };
  if (const auto job = std::ranges::find_if(running_, is_it); job != running_.end()) {
    kv_.release(job->kv);
    running_.erase(job);
  } else if (const auto queued = std::ranges::find_if(waiting_, is_it); queued != waiting_.end()) {
    waiting_.erase(queued);
  }
}

std::vector<BatchEvent> Batch::advance(Seconds now) {
  std::vector<BatchEvent> events;
  while (step_end_ && *step_end_ <= now) {
    const Seconds at = *step_end_;
    end_step(at, events);
    begin_step(at);
  }
  return events;
}

BatchLoad Batch::load() const {
  BatchLoad load = counters_;
  load.running = static_cast<std::int64_t>(running_.size());
  load.waiting = static_cast<std::int64_t>(waiting_.size());
  load.kv_used = kv_.used();
  load.kv_pool = kv_.size();
  return load;
}

void Batch::begin_step(Seconds at) {
  step_end_.reset();
  if (running_.empty()) {
    if (waiting_.empty()) return;
    at = std::max(at, waiting_.front().arrived);
  }
  Tokens budget = limits_.chunk;
  // A pool that has just been too small is not the moment to admit more.
  if (schedule_running(budget)) admit_waiting(budget, at);
  step_end_ = at + step_duration();
}

bool Batch::schedule_running(Tokens& budget) {
  bool all_kept = true;
  for (std::size_t i = 0; i < running_.size() && budget.value > 0; ++i) {
    const Tokens due = std::min(running_[i].total() - running_[i].computed, budget);
    const Tokens needed = running_[i].computed + due;
    while (i < running_.size() && needed > running_[i].reserved) {
      if (kv_.grow(running_[i].kv, needed - running_[i].reserved)) {
        running_[i].reserved = needed;
      } else {
        preempt_last();
        all_kept = false;
      }
    }
    if (i == running_.size()) break;  // it was itself the last
    running_[i].scheduled = due;
    budget -= due;
  }
  return all_kept;
}

void Batch::admit_waiting(Tokens budget, Seconds at) {
  while (budget.value > 0 && running_.size() < limits_.seats && !waiting_.empty() &&
         waiting_.front().arrived <= at) {
    Job& job = waiting_.front();
    auto lease = kv_.admit(job.sequence.blocks, job.total(), limits_.state_per_sequence);
    if (!lease) return;
    job.kv = std::move(*lease);
    job.reserved = job.total();
    job.computed = job.kv.cached();
    job.scheduled = std::min(job.total() - job.computed, budget);
    budget -= job.scheduled;
    if (!job.cached) {
      job.cached = job.computed;
      counters_.prefix_queries += job.sequence.prompt;
      counters_.prefix_hits += job.computed;
    }
    running_.push_back(std::move(job));
    waiting_.pop_front();
  }
}

void Batch::preempt_last() {
  Job& job = running_.back();
  kv_.release(job.kv);
  job.computed = job.reserved = job.scheduled = {};
  ++counters_.preemptions;
  waiting_.push_front(std::move(job));
  running_.pop_back();
}

Seconds Batch::step_duration() const {
  double decoding = 0;
  double context = 0;
  double prompt_tokens = 0;
  Seconds prefill{};
  for (const Job& job : running_) {
    if (job.scheduled.value == 0) continue;
    if (job.decoding()) {
      decoding += 1;
      context += number(job.computed);
    } else {
      prompt_tokens += number(job.scheduled);
      prefill += limits_.speed.prefill(number(job.scheduled), number(job.computed));
    }
  }
  return limits_.speed.mixed_step(decoding, context, prompt_tokens) + prefill;
}

void Batch::end_step(Seconds at, std::vector<BatchEvent>& events) {
  for (Job& job : running_) {
    if (job.scheduled.value == 0) continue;
    job.computed += std::exchange(job.scheduled, Tokens{});
    const auto full = static_cast<std::size_t>(job.computed.value / kBlockTokens);
    kv_.publish(job.kv, std::span(job.sequence.blocks).first(std::min(full, job.sequence.blocks.size())));
    if (job.computed == job.total()) produce(job, at, events);
    if (job.finished) kv_.release(job.kv);
  }
  std::erase_if(running_, [](const Job& job) { return job.finished; });
}

void Batch::produce(Job& job, Seconds at, std::vector<BatchEvent>& events) {
  using Kind = BatchEvent::Kind;
  const bool first = job.generated.value == 0;
  const auto tell = [&](Kind kind) {
    events.push_back({.id = job.id, .kind = kind, .at = at, .cached = *job.cached});
  };
  if (first) counters_.prompt_tokens += job.sequence.prompt;
  if (job.generated < job.sequence.output) {
    job.generated += Tokens{1};
    counters_.generated_tokens += Tokens{1};
    tell(first ? Kind::kFirstToken : Kind::kToken);
  }
  job.finished = job.generated == job.sequence.output;
  if (job.finished) tell(Kind::kFinished);
}

}  // namespace fareway::emulator
