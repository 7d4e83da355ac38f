#include "pricing/meter.hpp"

#include <algorithm>
#include <cassert>

namespace fareway {
namespace {

constexpr int kFractionBits = 32;
constexpr std::int64_t kNanosecondsPerHour = 3'600'000'000'000;

}  // namespace

Meter::Meter(NanoUsdPerHour group_rate, TimePoint start) : rate_(group_rate), last_(start) {}

void Meter::set_rate(NanoUsdPerHour group_rate, TimePoint now) {
  advance(now);
  rate_ = group_rate;
}

void Meter::advance(TimePoint now) {
  const NanoUsd accrued = accrue(now);
  if (active_ == 0) {
    idle_ += accrued;
    return;
  }
  unsettled_ += accrued;
  integral_ += (static_cast<Uint128>(accrued.value) << kFractionBits) / weights_;
}

Meter::Ticket Meter::begin(Weight weight, TimePoint now) {
  advance(now);
  weight = std::max<Weight>(weight, 1);
  weights_ += weight;
  ++active_;
  return {weight, integral_};
}

NanoUsd Meter::end(const Ticket& ticket, TimePoint now) {
  assert(active_ > 0 && weights_ >= ticket.weight);
  advance(now);
  --active_;
  weights_ -= ticket.weight;

  NanoUsd charge{static_cast<std::int64_t>((ticket.weight * (integral_ - ticket.start)) >> kFractionBits)};
  if (active_ == 0) charge = unsettled_;  // with what rounding down left over
  unsettled_ -= charge;
  charged_ += charge;
  return charge;
}

/// Money for the time since the last call, in whole nanodollars; the fraction is carried to the next call.
NanoUsd Meter::accrue(TimePoint now) {
  if (now <= last_) return {};
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count();
  last_ = now;
  const Uint128 owed =
      static_cast<Uint128>(rate_.value) * static_cast<Uint128>(elapsed) + static_cast<Uint128>(remainder_);
  remainder_ = static_cast<std::int64_t>(owed % kNanosecondsPerHour);
  return {static_cast<std::int64_t>(owed / kNanosecondsPerHour)};
}

}  // namespace fareway
