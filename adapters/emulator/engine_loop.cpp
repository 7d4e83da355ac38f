#include "adapters/emulator/engine_loop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace fareway::emulator {
namespace {

namespace net = boost::asio;
using SteadyClock = std::chrono::steady_clock;

constexpr double kLongestWaitNanoseconds = 1e17;  // three years, well inside the clock's range

// vLLM's own bounds.
const prometheus::Histogram::BucketBoundaries kFirstTokenSeconds{
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
    1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
const prometheus::Histogram::BucketBoundaries kInterTokenSeconds{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
                                                                 0.3,  0.4,   0.5,  0.75,  1.0, 2.5,  5.0,
                                                                 7.5,  10.0,  20.0, 40.0,  80.0};

}  // namespace

net::awaitable<void> Generation::progress(Tokens seen) {
  while (produced_ <= seen && !finished_ && !aborted_) {
    changed_.expires_at(net::steady_timer::time_point::max());
    co_await changed_.async_wait(net::as_tuple(net::use_awaitable));
  }
}

EngineLoop::EngineLoop(net::io_context& loop, BatchLimits limits, double pace)
    : loop_(loop),
      batch_(limits),
      pace_(pace),
      real_anchor_(SteadyClock::now()),
      timer_(loop),
      time_to_first_token_(kFirstTokenSeconds),
      inter_token_latency_(kInterTokenSeconds) {}

std::shared_ptr<Generation> EngineLoop::start(Sequence sequence) {
  const Seconds now = emulated_now();
  const auto id = batch_.submit(std::move(sequence), now);
  if (!id) return nullptr;
  auto generation = std::make_shared<Generation>(loop_);
  generation->id_ = *id;
  generation->began_ = now;
  generations_.emplace(*id, generation);
  arm_timer();
  return generation;
}

void EngineLoop::abort(Generation& generation) {
  if (generation.finished_ || generation.aborted_) return;
  generation.aborted_ = true;
  generation.changed_.cancel();
  batch_.cancel(generation.id_);
  generations_.erase(generation.id_);
}

void EngineLoop::abort_all() {
  while (!generations_.empty()) {
    const std::shared_ptr<Generation> generation = generations_.begin()->second;
    abort(*generation);
  }
}

void EngineLoop::set_pace(double pace) {
  emulated_anchor_ = emulated_now();
  real_anchor_ = SteadyClock::now();
  pace_ = pace;
  armed_for_.reset();
  advance();
}

Seconds EngineLoop::emulated_now() const {
  return emulated_anchor_ + pace_ * Seconds(SteadyClock::now() - real_anchor_);
}

void EngineLoop::on_event(const BatchEvent& event) {
  const auto it = generations_.find(event.id);
  if (it == generations_.end()) return;
  Generation& generation = *it->second;
  generation.cached_ = event.cached;
  generation.changed_.cancel();
  if (event.kind == BatchEvent::Kind::kFinished) {
    generation.finished_ = true;
    generations_.erase(it);
    return;
  }
  if (event.kind == BatchEvent::Kind::kFirstToken) {
    time_to_first_token_.Observe((event.at - generation.began_).count());
  } else {
    inter_token_latency_.Observe((event.at - generation.last_token_).count());
  }
  generation.last_token_ = event.at;
  generation.produced_ += Tokens{1};
}

void EngineLoop::advance() {
  for (const BatchEvent& event : batch_.advance(emulated_now())) on_event(event);
  arm_timer();
}

void EngineLoop::arm_timer() {
  const auto next = batch_.next_event_time();
  if (next == armed_for_) return;
  armed_for_ = next;
  if (!next || pace_ <= 0) {
    timer_.cancel();
    return;
  }
  const double real_nanoseconds =
      std::min(std::ceil((*next - emulated_anchor_).count() / pace_ * 1e9), kLongestWaitNanoseconds);
  timer_.expires_at(real_anchor_ + std::chrono::nanoseconds(static_cast<std::int64_t>(real_nanoseconds)));
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    self->armed_for_.reset();
    self->advance();
  });
}

}  // namespace fareway::emulator
