#pragma once

#include <optional>
#include <vector>

namespace fareway {

/// What a deployment can be run at: the faster each user, the less all of them together.
struct OperatingPoint {
  double interactivity{};  ///< tok/s a user, 1 / TPOT
  double throughput{};     ///< tok/s, of whatever unit the caller compares: a device, a replica
  bool extrapolated{};     ///< beyond the points that its speed rests on
};

/// The points that no other beats in both, by rising interactivity.
class Frontier {
 public:
  explicit Frontier(std::vector<OperatingPoint> points);

  const std::vector<OperatingPoint>& points() const { return points_; }
  bool empty() const { return points_.empty(); }
  /// Where the most throughput leaves every user at least `interactivity`: on the straight line between
  /// points, extrapolated if either is; slower users can always be served as fast as the slowest point.
  /// Nothing beyond the fastest.
  std::optional<OperatingPoint> at(double interactivity) const;
  /// Of the fastest point; 0 where there is none.
  double fastest() const { return empty() ? 0 : points_.back().interactivity; }

 private:
  std::vector<OperatingPoint> points_;
};

}  // namespace fareway
