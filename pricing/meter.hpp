#pragma once

#include <cstdint>

#include "pricing/base/units.hpp"

namespace fareway {

__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using): the keyword needs this form

/// Turns the hours of one replica into the dollars of its requests.
///
/// A replica costs its group rate every second. While requests are active the rate is split among them by
/// weight; while none is, it is idle cost. One running integral
///
///     V(t) = ∫ rate / (sum of active weights) dt,    charge = weight × (V(end) − V(start))
///
/// makes every event O(1). All arithmetic is integer: V is kept in 2^-32 nanodollars, rounding is down, and
/// what rounding leaves over goes to the last request of a busy period, so that at every instant, to the
/// nanodollar,
///
///     charged + unsettled + idle = ∫ rate dt     (unsettled is 0 while no request is active).
///
/// Not thread-safe. Times must not go backwards; a time before the last one counts as the last one.
class Meter {
 public:
  /// Relative weight of a request; at least 1.
  using Weight = std::uint32_t;

  /// What a request holds while it is active; give it back to `end` exactly once.
  struct Ticket {
    Weight weight{};
    Uint128 start{};
  };

  Meter(NanoUsdPerHour group_rate, TimePoint start);

  /// Time before `now` is paid at the old rate, time after it at the new one.
  void set_rate(NanoUsdPerHour group_rate, TimePoint now);
  void advance(TimePoint now);

  [[nodiscard]] Ticket begin(Weight weight, TimePoint now);
  /// The request's charge. Never negative.
  NanoUsd end(const Ticket& ticket, TimePoint now);

  NanoUsdPerHour rate() const { return rate_; }
  std::uint32_t active() const { return active_; }
  /// Cost of the time passed so far; equals charged() + unsettled() + idle().
  NanoUsd total() const { return idle_ + charged_ + unsettled_; }
  NanoUsd charged() const { return charged_; }
  NanoUsd unsettled() const { return unsettled_; }
  NanoUsd idle() const { return idle_; }

 private:
  NanoUsd accrue(TimePoint now);

  NanoUsdPerHour rate_;
  TimePoint last_;
  std::int64_t remainder_{0};  // of rate × nanoseconds, in 1/3.6e12 nanodollars, carried between accruals
  Uint128 integral_{0};
  std::uint64_t weights_{0};
  std::uint32_t active_{0};
  NanoUsd idle_;
  NanoUsd charged_;
  NanoUsd unsettled_;
};

}  // namespace fareway
