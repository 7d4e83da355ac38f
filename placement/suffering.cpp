#include "placement/suffering.hpp"

#include <cmath>

namespace fareway {
namespace {

constexpr double kPaceTolerance = 0.05;

StallCurve curve_of(const Fleet& fleet, const Replica& replica, std::size_t position, Seconds pace,
                    TimePoint now) {
  const InFlight& q = replica.in_flight[position];
  return stall_curve(q, fleet[q.service_class], replica.errors[kind_of(q.service_class, q.prompt)], pace,
                     now);
}

}  // namespace

void Suffering::added(const Fleet& fleet, const Replica& replica, Seconds pace, TimePoint now) {
  if (!keeps_pace(pace)) return renew(fleet, replica, pace, now);
  curves_.push_back(curve_of(fleet, replica, replica.in_flight.size() - 1, pace_, now));
  sum_ += curves_.back();
}

void Suffering::changed(const Fleet& fleet, const Replica& replica, std::size_t position, Seconds pace,
                        TimePoint now) {
  if (!keeps_pace(pace)) return renew(fleet, replica, pace, now);
  sum_ -= curves_[position];
  curves_[position] = curve_of(fleet, replica, position, pace_, now);
  sum_ += curves_[position];
}

void Suffering::removed(const Fleet& fleet, const Replica& replica, std::size_t position, Seconds pace,
                        TimePoint now) {
  sum_ -= curves_[position];
  curves_[position] = curves_.back();
  curves_.pop_back();
  if (curves_.empty()) sum_ = {};  // without what rounding left over
  if (!keeps_pace(pace)) renew(fleet, replica, pace, now);
}

void Suffering::renew(const Fleet& fleet, const Replica& replica, Seconds pace, TimePoint now) {
  pace_ = pace;
  sum_ = {};
  curves_.clear();
  for (std::size_t i = 0; i < replica.in_flight.size(); ++i) {
    curves_.push_back(curve_of(fleet, replica, i, pace, now));
    sum_ += curves_.back();
  }
}

bool Suffering::keeps_pace(Seconds pace) const {
  return std::abs((pace - pace_).count()) <= kPaceTolerance * pace_.count();
}

}  // namespace fareway
