#include "placement/load.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {

double prefill_share(const Replica& replica, TimePoint now) {
  const double age = std::max(0.0, Seconds{now - replica.prefill_share_at}.count());
  return replica.prefill_share * std::exp(-age / kPrefillShareWindowSeconds);
}

ReplicaLoad load_of(const Fleet& fleet, const Replica& replica, TimePoint now) {
  const SpeedProfile& speed = fleet.speed(replica);
  ReplicaLoad load{.decoding = static_cast<double>(replica.foreign_running),
                   .context = replica.foreign_context,
                   .queued = static_cast<double>(replica.foreign_waiting),
                   .prefill_share = prefill_share(replica, now)};
  const InFlight* head = nullptr;
  Seconds head_prefill{0};
  Seconds queued_prefill{0};
  double remaining = 0;
  double decoding = 0;
  for (const InFlight& q : replica.in_flight) {
    if (q.first_token) {
      decoding += 1;
      load.context += q.context();
      remaining += q.remaining();
      continue;
    }
    const auto uncached = static_cast<double>((q.prompt - q.cached).value);
    const Seconds prefill = speed.prefill(uncached, static_cast<double>(q.cached.value));
    load.queued += 1;
    load.queued_context += static_cast<double>(q.prompt.value);
    load.queued_uncached += uncached;
    queued_prefill += prefill;
    if (head == nullptr || q.arrived < head->arrived) {
      head = &q;
      head_prefill = prefill;
    }
  }
  load.decoding += decoding;
  if (decoding > 0) load.mean_remaining = remaining / decoding;
  if (head != nullptr) {
    // The oldest of the queue is prefilled since it came, or since the one before it was done.
    const Seconds under_way = now - std::max(head->arrived, replica.prefill_ended);
    load.prefill_behind = queued_prefill - head_prefill;
    load.prefill_left = queued_prefill - under_way;
  }
  return load;
}

Seconds pace_of(const SpeedProfile& speed, const ReplicaLoad& load) {
  const double share = std::min<double>(load.prefill_share, kLargestPrefillShare);
  return speed.step(load.decoding + load.queued, load.context + load.queued_context) / (1 - share);
}

}  // namespace fareway
