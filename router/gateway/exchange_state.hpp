#pragma once

#include <memory>
#include <optional>

#include "router/gateway/client_stream.hpp"
#include "router/gateway/deadline.hpp"
#include "router/gateway/job.hpp"
#include "router/gateway/loop_state.hpp"
#include "router/gateway/settlement.hpp"

namespace fareway {

/// Why an exchange ends before its answer does.
enum class Interrupt { kNone, kClientGone, kShutdown };

/// What one exchange and its relay work on. Lives in the session's coroutine.
struct ExchangeState {
  ExchangeState(LoopState& loop_state, ClientStream& client_stream, Deadline& session_deadline, Job accepted)
      : loop(loop_state),
        client(client_stream),
        deadline(session_deadline),
        job(std::move(accepted)),
        settlement(loop_state.parts, job) {}

  LoopState& loop;
  ClientStream& client;
  Deadline& deadline;
  Job job;
  Settlement settlement;
  std::unique_ptr<UpstreamConnection> upstream;
  TimePoint attempt_began{};
  Interrupt interrupt{Interrupt::kNone};
  std::optional<Wait> expired;  ///< the limit that ended the current attempt

  const Limits& limits() const { return loop.parts.config.limits; }
  bool keep_alive() const { return job.keep_alive && !loop.draining; }

  /// Makes the row and waits until it is durable.
  Task<void> settle(Outcome outcome, int status, const AnswerFacts& facts);
  /// The connection goes back to the pool if another exchange may follow on it.
  void release_upstream();
};

}  // namespace fareway
