#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "placement/speed/closed_loop.hpp"
#include "pricing/base/units.hpp"

namespace fareway {

/// One run of a serving benchmark: a closed loop and the median TPOT and TTFT it saw.
struct MeasuredPoint {
  double input_tokens{};
  double output_tokens{};
  double concurrency{};
  Seconds tpot{};
  std::optional<Seconds> ttft;
};

/// TPOT of one deployment over concurrency × prompt length, from points.
///
/// Along concurrency a monotone cubic (PCHIP) through ln TPOT over ln concurrency, after pooling neighbours
/// that noise has put in the wrong order: more clients never make a token faster. Between prompt lengths,
/// linear in ln TPOT. Immutable; building allocates, reading does not.
class MeasuredCurve {
 public:
  /// Points with equal prompt and concurrency are averaged. Must not be empty.
  explicit MeasuredCurve(const std::vector<MeasuredPoint>& points);

  struct Reading {
    Seconds tpot{};
    bool extrapolated{};  ///< outside the points: the nearest one's TPOT × beyond(asked) ÷ beyond(nearest)
  };
  /// `beyond` says how TPOT goes on where nothing was measured.
  Reading tpot(const ClosedLoop& load, const std::function<Seconds(const ClosedLoop&)>& beyond) const;

 private:
  struct Row {
    double input_tokens{};
    double output_tokens{};
    std::vector<double> log_concurrency;
    std::vector<double> log_tpot;
    std::function<double(double)> between;
  };
  static Row row_of(std::vector<MeasuredPoint> points);
  static Reading read(const Row& row, const ClosedLoop& load,
                      const std::function<Seconds(const ClosedLoop&)>& beyond);

  std::vector<Row> rows_;  // by rising input_tokens
};

}  // namespace fareway
