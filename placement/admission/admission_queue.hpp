#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "placement/admission/queue_limits.hpp"
#include "placement/admission/turned_away.hpp"
#include "placement/admission/waiting.hpp"
#include "placement/admission/work_rate.hpp"

namespace fareway {

/// Requests that nobody can serve in time right now: who is next, who is turned away, and for how long.
///
/// Models do not wait for each other. Within a model the class goes first whose miss is worth most; within a
/// class tenants share by the dollars of work they were given, whoever has had least goes first; within a
/// tenant the one whose time runs out first. Those for whom it has run out come after all others, of whatever
/// class: they gain nobody anything.
///
/// Holds no request, only what there is to know of it. Reads no clock; times may repeat but not go back by
/// much. One thread. An event costs O(log waiting + tenants of its class).
class AdmissionQueue {
 public:
  /// `fleet` is read for its classes and models, and not kept.
  AdmissionQueue(const Fleet& fleet, QueueLimits limits);

  struct Answer {
    std::optional<TurnedAway> turned_away;   ///< nothing: it waits from now on
    std::vector<std::uint64_t> displaced{};  ///< those that had to leave for it
  };
  /// A request asks to wait. Where the queue is full, whoever waits in the class whose miss is worth least,
  /// of the tenant that has most waiting there, makes room.
  Answer offer(const Waiting& request, TimePoint now);

  /// It left, or was placed elsewhere. False where it does not wait.
  bool forget(std::uint64_t id);
  /// Those who have waited for as long as they may; they are forgotten.
  std::vector<Waiting> expire(TimePoint now);

  /// How a request that has just come stands: as `standing_of` says, but it waits too where it has to give
  /// way. `shape` is what `choice` was made for.
  Standing newcomer(const Choice& choice, const RequestShape& shape, const Fleet& fleet, TimePoint now) const;
  /// It has time, and of a class whose miss is worth more there are some that wait and are still in time:
  /// what becomes free is theirs. So the cheapest class pays first when there is too much of everything.
  bool gives_way(const Waiting& request, TimePoint now) const;

  /// Places who can be placed: `place` is shown one after another, in their order, and says whether it placed
  /// the request shown; one that does not fit keeps nobody behind it waiting. Tries at most 32 in vain.
  using Place = std::function<bool(const Waiting&)>;
  void serve(ModelIndex model, TimePoint now, const Place& place);

  /// A request that did not wait was placed: its tenant has had its work, and the fleet has done it.
  void placed(const Waiting& request, TimePoint now);

  /// How long those who go before it take, at the rate at which its class and cheaper ones were placed
  /// lately; nothing where none was. Also the time after which a refused client should try again.
  std::optional<Seconds> predicted_drain(const Waiting& request, TimePoint now) const;

  struct Depth {
    std::size_t requests{0};
    std::size_t bytes{0};
    Usd work;  ///< without those held for a cheaper hour
  };
  Depth depth(ModelIndex model, ClassIndex service_class) const;
  std::size_t size() const { return waiting_.size(); }
  std::size_t bytes() const { return bytes_; }
  bool empty(ModelIndex model) const { return models_[model.value].requests == 0; }

 private:
  using Ordered = std::set<std::pair<TimePoint, std::uint64_t>>;

  struct TenantQueue {
    double had{0};      // dollars of work given, in the class's virtual time
    double waiting{0};  // dollars
    Ordered in_time;    // by when their time runs out
    Ordered late;       // by arrival
    bool empty() const { return in_time.empty() && late.empty(); }
  };
  struct ClassQueue {
    std::map<TenantIndex, TenantQueue> tenants;
    double virtual_time{0};  // what the tenant served last had had
    double waiting{0};       // dollars
    std::size_t requests{0};
    std::size_t bytes{0};
    WorkRate rate;
  };
  struct ModelQueue {
    std::vector<ClassQueue> classes;
    std::size_t requests{0};
  };

  ClassQueue& class_of(const Waiting& request);
  const ClassQueue& class_of(const Waiting& request) const;
  void add(const Waiting& request);
  static void enqueue(ClassQueue& queue, const Waiting& request);
  void charge(const Waiting& request, TimePoint now);
  void wake(TimePoint now);
  void note_late(ModelQueue& model, TimePoint now);
  bool serve_class(ClassQueue& queue, bool in_time, TimePoint now, const Place& place, int& tries);
  std::optional<std::uint64_t> victim(const Waiting& request) const;
  std::optional<TurnedAway> full(const Waiting& request) const;
  bool dearer_wait(ModelIndex model, ClassIndex service_class, TimePoint now) const;

  QueueLimits limits_;
  std::vector<double> worth_;          // by class, dollars
  std::vector<std::size_t> by_worth_;  // classes, the dearest first
  std::vector<ModelQueue> models_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
  Ordered held_;      // for cheaper hours, by when they may go; in no tenant's queue
  Ordered give_ups_;  // all, by when they are refused
  std::size_t bytes_{0};
};

}  // namespace fareway
