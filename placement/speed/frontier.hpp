#pragma once

#include <optional>
#include <vector>

namespace fareway {

/// What a deployment can be run at: the faster each user, the less all of them together.
struct OperatingPoint {
  double interactivity{};  ///< tok/s a user, 1 / TPOT
  double throughput{};     ///< tok/s, of whatever unit the caller compares: a device, a replica
};

/// The points that no other beats in both, by rising interactivity.
class Frontier {
 public:
  explicit Frontier(std::vector<OperatingPoint> points);

  const std::vector<OperatingPoint>& points() const { return points_; }
  bool empty() const { return points_.empty(); }
  /// The most throughput that leaves every user at least `interactivity`, on the straight line between
  /// points; slower users can always be served as fast as the slowest point. Nothing beyond the fastest: no
  /// extrapolation.
  std::optional<double> throughput_at(double interactivity) const;
  /// Of the fastest point; 0 where there is none.
  double fastest() const { return empty() ? 0 : points_.back().interactivity; }

 private:
  std::vector<OperatingPoint> points_;
};

}  // namespace fareway
