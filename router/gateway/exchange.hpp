#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "router/gateway/errors.hpp"
#include "router/gateway/exchange_state.hpp"

namespace fareway {

/// One accepted request from admission to its last byte: decides, forwards, retries, has the answer relayed,
/// settles.
///
/// The line is the first byte sent to the client: before it a failure is retried on another replica, after it
/// never. While it runs the client is watched; when it leaves, the engine's connection is closed at once,
/// which is how engines are told to stop. Every admitted request leaves exactly one ledger row.
class Exchange {
 public:
  Exchange(LoopState& loop, ClientStream& client, Deadline& deadline, Job job);

  /// True where the client's connection may serve another request.
  Task<bool> run();

  /// The limit of what the exchange waits for has passed.
  void expire(Wait wait);
  /// The router is going away: ends the answer as one that broke off.
  void cut() { interrupt(Interrupt::kShutdown); }
  /// The loop will not run again: writes the row now.
  void abandon();

 private:
  /// How far an attempt got.
  enum class Attempt {
    kServed,     ///< whole
    kBrokenOff,  ///< settled, and the client's connection is useless
    kUnreached,  ///< no connection
    kSilent,     ///< connected, and failed before the client saw a byte
    kRefused,  ///< the engine answered with an error that another replica may not have; its answer is at hand
    kAnsweredError,  ///< the request's own error: relayed, settled
    kLocalTrouble,   ///< out of sockets here: no fault of the replica's
  };

  Standing weigh();
  Task<bool> wait_and_serve(std::optional<TimePoint> cheaper_from);
  Task<bool> turn_away(WaitingRoom::TurnAway why);
  bool place_if_fits(const Waiting& waiting, TimePoint now);
  Task<bool> serve();
  Task<Attempt> attempt();
  Task<Attempt> connect(ReplicaIndex replica);
  Task<bool> forward(ReplicaIndex replica);
  Task<Attempt> await_head();
  Task<Attempt> judge_head();
  Task<Attempt> relay();

  bool retry(Attempt failed);
  Task<bool> give_up(Attempt failed);
  Task<bool> relay_error();
  Task<bool> answer(Refusal refusal, Outcome outcome);
  Task<bool> refuse(Refusal refusal);
  Refusal refusal_for(Attempt failed) const;
  std::string forwarded_head(ReplicaIndex replica) const;
  void interrupt(Interrupt why);

  ExchangeState state_;
  std::optional<std::uint64_t> waiting_as_;  // its id in the waiting room, while it is there
  bool reused_connection_{false};
};

}  // namespace fareway
