#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fareway::bench {

/// Durations in steps of 1/64 of a power of two of nanoseconds: percentiles are exact to under 2 %.
class Histogram {
 public:
  void add(std::chrono::nanoseconds duration) {
    ++counts_[step_of(static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count())))];
    ++total_;
  }

  std::uint64_t count() const { return total_; }

  /// Nothing where nothing was added. `share`: 0.5 is the median.
  std::optional<double> microseconds_at(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t step = 0; step < counts_.size(); ++step) {
      seen += counts_[step];
      if (seen > wanted) return middle_of(step) / kNanosecondsPerMicrosecond;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kStepBits = 6;
  static constexpr std::size_t kSteps = std::size_t{1} << kStepBits;
  static constexpr double kNanosecondsPerMicrosecond = 1000;

  static std::size_t step_of(std::uint64_t value) {
    if (value < kSteps) return value;
    const auto shift = static_cast<std::size_t>(std::bit_width(value)) - kStepBits - 1;
    return (shift + 1) * kSteps + ((value >> shift) - kSteps);
  }

  static double middle_of(std::size_t step) {
    if (step < kSteps) return static_cast<double>(step);
    const std::size_t shift = step / kSteps - 1;
    const auto first = static_cast<double>((kSteps + step % kSteps) << shift);
    return first + static_cast<double>(std::uint64_t{1} << shift) / 2;
  }

  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kSteps * 60);
  std::uint64_t total_{0};
};

}  // namespace fareway::bench
