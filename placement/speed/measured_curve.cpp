#include "placement/speed/measured_curve.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <boost/math/interpolators/pchip.hpp>

namespace fareway {
namespace {

/// Pools adjacent violators: the nearest non-decreasing sequence in least squares.
std::vector<double> non_decreasing(const std::vector<double>& values) {
  struct Block {
    double mean;
    std::size_t size;
  };
  std::vector<Block> blocks;
  for (const double value : values) {
    blocks.push_back({value, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& merged = blocks.back();
      const auto weight = static_cast<double>(merged.size);
      const auto added = static_cast<double>(last.size);
      merged.mean = (merged.mean * weight + last.mean * added) / (weight + added);
      merged.size += last.size;
    }
  }
  std::vector<double> pooled;
  for (const Block& block : blocks) pooled.insert(pooled.end(), block.size, block.mean);
  return pooled;
}

double on_line(const std::vector<double>& x, const std::vector<double>& y, double at) {
  const auto upper = std::ranges::lower_bound(x, at);
  const auto i = static_cast<std::size_t>(upper - x.begin());
  if (i == 0) return y.front();
  if (i == x.size()) return y.back();
  return std::lerp(y[i - 1], y[i], (at - x[i - 1]) / (x[i] - x[i - 1]));
}

constexpr std::size_t kFewestForCubic = 4;  // what PCHIP asks for; fewer are joined by straight lines

}  // namespace

MeasuredCurve::MeasuredCurve(const std::vector<MeasuredPoint>& points) {
  std::map<double, std::vector<MeasuredPoint>> by_input;
  for (const MeasuredPoint& point : points) by_input[point.input_tokens].push_back(point);
  for (auto& [input, row] : by_input) rows_.push_back(row_of(std::move(row)));
}

MeasuredCurve::Row MeasuredCurve::row_of(std::vector<MeasuredPoint> points) {
  std::map<double, std::pair<double, double>> sums;  // by concurrency: Σ ln TPOT, count
  for (const MeasuredPoint& point : points) {
    auto& [sum, count] = sums[point.concurrency];
    sum += std::log(point.tpot.count());
    count += 1;
  }
  Row row{.input_tokens = points.front().input_tokens, .output_tokens = points.front().output_tokens};
  for (const auto& [concurrency, sum] : sums) {
    row.log_concurrency.push_back(std::log(concurrency));
    row.log_tpot.push_back(sum.first / sum.second);
  }
  row.log_tpot = non_decreasing(row.log_tpot);
  if (row.log_tpot.size() >= kFewestForCubic) {
    row.between = [cubic = boost::math::interpolators::pchip(std::vector(row.log_concurrency),
                                                             std::vector(row.log_tpot))](double at) {
      return cubic(at);
    };
  } else {
    row.between = [x = row.log_concurrency, y = row.log_tpot](double at) { return on_line(x, y, at); };
  }
  return row;
}

MeasuredCurve::Reading MeasuredCurve::read(const Row& row, const ClosedLoop& load,
                                           const std::function<Seconds(const ClosedLoop&)>& beyond) {
  const double asked = std::log(load.concurrency);
  const double nearest = std::clamp(asked, row.log_concurrency.front(), row.log_concurrency.back());
  const Seconds measured{std::exp(row.between(nearest))};
  if (nearest == asked) return {.tpot = measured};
  const auto at = [&](double concurrency) {
    return beyond(
        {.input_tokens = row.input_tokens, .output_tokens = row.output_tokens, .concurrency = concurrency});
  };
  return {.tpot = measured * (at(load.concurrency) / at(std::exp(nearest))), .extrapolated = true};
}

MeasuredCurve::Reading MeasuredCurve::tpot(const ClosedLoop& load,
                                           const std::function<Seconds(const ClosedLoop&)>& beyond) const {
  const auto longer = std::ranges::lower_bound(rows_, load.input_tokens, {}, &Row::input_tokens);
  if (longer != rows_.end() && longer->input_tokens == load.input_tokens) return read(*longer, load, beyond);
  if (longer == rows_.begin() || longer == rows_.end()) {
    const Row& nearest = longer == rows_.begin() ? rows_.front() : rows_.back();
    const Reading reading = read(nearest, load, beyond);
    ClosedLoop there = load;
    there.input_tokens = nearest.input_tokens;
    return {.tpot = reading.tpot * (beyond(load) / beyond(there)), .extrapolated = true};
  }
  const Row& shorter = *std::prev(longer);
  const Reading low = read(shorter, load, beyond);
  const Reading high = read(*longer, load, beyond);
  const double share =
      (load.input_tokens - shorter.input_tokens) / (longer->input_tokens - shorter.input_tokens);
  const double log_tpot = std::lerp(std::log(low.tpot.count()), std::log(high.tpot.count()), share);
  return {.tpot = Seconds{std::exp(log_tpot)}, .extrapolated = low.extrapolated || high.extrapolated};
}

}  // namespace fareway
