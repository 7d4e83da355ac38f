#include "placement/estimates/length_sketch.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {
namespace {

constexpr double kGrowth = 1.1;
constexpr double kForget = 0.998;
constexpr double kMostWeight = 1e6;               // floats add precisely up to far beyond that
constexpr double kExponentialLogSpread = 1.2825;  // π/√6

}  // namespace

std::size_t LengthSketch::bucket_of(double length) {
  const double bucket = std::log(std::max(1.0, length)) / std::log(kGrowth);
  return std::min(static_cast<std::size_t>(std::lround(bucket)), kBuckets - 1);
}

double LengthSketch::length_of(std::size_t bucket) {
  // Every request sums over all buckets: 160 powers would cost it microseconds.
  static const std::array<double, kBuckets> lengths = [] {
    std::array<double, kBuckets> powers{};
    for (std::size_t i = 0; i < kBuckets; ++i) powers[i] = std::pow(kGrowth, static_cast<double>(i));
    return powers;
  }();
  return lengths[bucket];
}

void LengthSketch::add(Tokens length) {
  if (length.value <= 0) return;
  weight_ /= kForget;
  if (weight_ > kMostWeight) {
    for (float& count : count_) count /= static_cast<float>(weight_);
    total_ /= weight_;
    weight_ = 1;
  }
  count_[bucket_of(static_cast<double>(length.value))] += static_cast<float>(weight_);
  total_ += weight_;
}

double LengthSketch::quantile(double q) const {
  if (total_ <= 0) return 0;
  double below = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (count_[i] <= 0) continue;
    last = i;
    below += static_cast<double>(count_[i]);
    if (below >= q * total_) break;
  }
  return length_of(last);
}

double LengthSketch::mean(const LengthPrior& prior, std::optional<Tokens> limit) const {
  const double most = limit ? static_cast<double>(limit->value) : INFINITY;
  double sum = prior.answers * weight_ * prior.mean * (1 - std::exp(-most / prior.mean));
  for (std::size_t i = 0; i < kBuckets; ++i)
    sum += static_cast<double>(count_[i]) * std::min(length_of(i), most);
  return sum / (total_ + prior.answers * weight_);
}

double LengthSketch::remaining(double seen, const LengthPrior& prior) const {
  double longer = prior.answers * weight_ * std::exp(-seen / prior.mean);
  double sum = longer * prior.mean;
  // The half bucket above `seen` would count lengths that are merely rounded up.
  for (std::size_t i = bucket_of(seen) + 1; i < kBuckets; ++i) {
    longer += static_cast<double>(count_[i]);
    sum += static_cast<double>(count_[i]) * (length_of(i) - seen);
  }
  return longer > 0 ? std::max(1.0, sum / longer) : std::max(1.0, prior.mean);
}

double LengthSketch::log_spread() const {
  if (total_ <= 0) return kExponentialLogSpread;
  double mean = 0;
  double square = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const double log = static_cast<double>(i) * std::log(kGrowth);
    mean += static_cast<double>(count_[i]) * log;
    square += static_cast<double>(count_[i]) * log * log;
  }
  mean /= total_;
  return std::sqrt(std::max(0.0, square / total_ - mean * mean));
}

}  // namespace fareway
