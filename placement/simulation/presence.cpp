#include "placement/simulation/presence.hpp"

namespace fareway::simulation {

Presence::Presence(const Fleet& fleet, double start_seconds) : start_seconds_(start_seconds) {
  for (const Replica& replica : fleet.replicas) {
    Entry entry;
    entry.use.per_second = to_usd_per_hour(fleet.group_rate(replica)) * Seconds{1};
    entry.use.throughput = typical_throughput(fleet[replica.deployment]);
    entries_.push_back(entry);
  }
}

void Presence::placed(ReplicaIndex replica, SimTime now) {
  Entry& entry = entries_[replica.value];
  ++entry.in_flight;
  entry.busy_until = now;
}

void Presence::ended(ReplicaIndex replica, SimTime now) {
  Entry& entry = entries_[replica.value];
  --entry.in_flight;
  entry.busy_until = now;
}

void Presence::review(Scaler* scaler, SimTime now) {
  uses_.clear();
  for (Entry& entry : entries_) {
    if (entry.state != State::kOut) paid_ += entry.use.per_second * (now - reviewed_);
    settle(entry, now);
    entry.use.in = entry.state == State::kIn || entry.state == State::kStarting;
    entry.use.in_flight = entry.in_flight;
    entry.use.idle = entry.in_flight == 0 ? std::optional(Seconds{now - entry.busy_until}) : std::nullopt;
    uses_.push_back(entry.use);
  }
  reviewed_ = now;
  if (scaler != nullptr) {
    if (const auto advice = scaler->review(uses_, Seconds{now})) change(*advice, now);
  }
  list_excluded();
}

void Presence::settle(Entry& entry, SimTime now) const {
  if (entry.state == State::kStarting && now - entry.since >= start_seconds_) entry.state = State::kIn;
  if (entry.state == State::kDraining && entry.in_flight == 0) entry.state = State::kOut;
}

void Presence::change(const ScalingAdvice& advice, SimTime now) {
  Entry& entry = entries_[advice.replica.value];
  if (advice.kind == ScalingAdvice::Kind::kLetGo) {
    entry.state = State::kDraining;
  } else {
    entry.state = entry.state == State::kDraining || start_seconds_ <= 0 ? State::kIn : State::kStarting;
    entry.busy_until = now;
  }
  entry.since = now;
}

void Presence::list_excluded() {
  excluded_.clear();
  for (std::uint32_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].state != State::kIn) excluded_.push_back(ReplicaIndex{i});
}

}  // namespace fareway::simulation
