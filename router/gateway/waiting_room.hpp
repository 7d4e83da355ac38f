#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "placement/admission/admission_queue.hpp"
#include "router/gateway/gateway.hpp"
#include "router/gateway/net.hpp"
#include "router/gateway/waiter.hpp"

namespace fareway {

/// Where the exchanges of one loop wait until a replica can take them: the coroutines of what
/// `AdmissionQueue` orders. Looked through when an exchange ends and with the loop's tick, which also sees
/// replicas that came into rotation and first tokens. Owned by its loop's state, used by that loop's thread.
class WaitingRoom {
 public:
  /// Both outlive the room.
  WaitingRoom(net::io_context& loop, GatewayParts parts);
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  const AdmissionQueue& queue() const { return queue_; }
  AdmissionQueue& queue() { return queue_; }
  /// False: the configuration wants no queue, everything is placed at once.
  bool open() const;

  struct TurnAway {
    TurnedAway why{};
    std::optional<Seconds> drain;  ///< predicted; unknown where nothing was placed lately
  };
  /// Asks to wait; nothing: it may, and `stay` follows before anything else happens.
  std::optional<TurnAway> enter(const Waiting& request);
  /// `place` is called on the loop whenever the request might be placed; it places it and returns true, or
  /// returns false. What it refers to lives until this returns. Nothing: it was placed, or has left.
  using Place = std::function<bool(const Waiting&, TimePoint)>;
  Task<std::optional<TurnAway>> stay(Waiting request, Place place);
  /// The client has left ("client_closed"), or the router is going ("shutting_down"): its `stay` returns
  /// soon.
  void leave(std::uint64_t id, std::string_view why_literal);
  std::uint64_t next_id() { return ++last_id_; }

  /// Places those of the model that can be placed, now.
  void serve(ModelIndex model, TimePoint now);
  /// The same, once the loop gets to it: something has just become free.
  void serve_soon(ModelIndex model);
  /// Some twenty times a second: turns away who has waited too long, and places who can be placed.
  void tick(TimePoint now);
  /// The loop will not run again: lets go of who waits.
  void abandon();

 private:
  struct Guest {
    Waiter waiter;
    ClassIndex service_class;
    TimePoint since;
    Place place;
    std::optional<TurnAway>* turned_away;
  };
  void dismiss(std::uint64_t id, const TurnAway& why);
  void resume(std::uint64_t id, std::string_view how);
  void show_depths();

  net::io_context& loop_;
  GatewayParts parts_;
  AdmissionQueue queue_;
  std::unordered_map<std::uint64_t, Guest> guests_;
  std::uint64_t last_id_{0};
  std::vector<bool> serving_soon_;       // by model
  std::shared_ptr<WaitingRoom*> alive_;  // nothing in it once the room is gone
};

}  // namespace fareway
