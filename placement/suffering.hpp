#pragma once

#include <vector>

#include "placement/fleet.hpp"
#include "placement/score/stall_curve.hpp"

namespace fareway {

/// What one replica's requests would suffer from a stall: the sum of their curves, kept while they come and
/// go.
///
/// A change costs one curve, whatever else is in flight. Curves are worked out at the pace that holds when
/// they are; when the pace has moved by more than 5 % they all are worked out anew, and so they should be
/// about once a second, since requests may decode slower than they were taken to (`renew`). Curves lie in the
/// order of `Replica::in_flight`. Not thread-safe.
class Suffering {
 public:
  const StallCurve& sum() const { return sum_; }

  /// The last request in flight has just been added.
  void added(const Fleet& fleet, const Replica& replica, Seconds pace, TimePoint now);
  /// The request at this position has moved on.
  void changed(const Fleet& fleet, const Replica& replica, std::size_t position, Seconds pace, TimePoint now);
  /// The request at this position has been taken out and the last one put in its place.
  void removed(const Fleet& fleet, const Replica& replica, std::size_t position, Seconds pace, TimePoint now);
  void renew(const Fleet& fleet, const Replica& replica, Seconds pace, TimePoint now);

 private:
  bool keeps_pace(Seconds pace) const;

  Seconds pace_{};
  StallCurve sum_;
  std::vector<StallCurve> curves_;
};

}  // namespace fareway
