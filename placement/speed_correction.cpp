#include "placement/speed_correction.hpp"

#include <algorithm>
#include <cmath>

namespace fareway {
namespace {

constexpr double kForget = 0.98;
constexpr double kSharedVariance = 4;
constexpr double kOwnVariance = 0.25;
constexpr double kSlowest = 16;  // a device that is slower is out of order, not slow

constexpr double kFirstSpread = 0.35;
constexpr double kNarrowestSpread = 0.05;
constexpr double kSpreadWeight = 0.05;
constexpr double kErrorsToDoubt = 2.5;  // spreads
constexpr int kRowToDoubt = 3;
/// A single time far off is more likely somebody's hiccup than the replica's speed.
constexpr double kFarOff = 1.0;  // of ln

template <std::size_t N>
typename LeastSquares<N>::Vector filled(double value) {
  typename LeastSquares<N>::Vector vector{};
  vector.fill(value);
  return vector;
}

}  // namespace

template <std::size_t N>
SpeedCorrection::Phase<N>::Phase()
    : fit_(filled<N>(1), {.forget = kForget,
                          .own_variance = filled<N>(kOwnVariance),
                          .shared_variance = kSharedVariance,
                          .least = filled<N>(1 / kSlowest),
                          .most = filled<N>(kSlowest)}),
      usual_shares_(filled<N>(1.0 / N)),
      squared_error_(kFirstSpread * kFirstSpread) {}

template <std::size_t N>
void SpeedCorrection::Phase<N>::saw(const typename Fit::Vector& shares, double ratio) {
  if (!(ratio > 0) || !std::isfinite(ratio)) return;
  const double fitted = std::max(fit_.predict(shares), 1 / kSlowest);
  const double error = std::log(ratio / fitted);
  const double limit = kErrorsToDoubt * std::sqrt(squared_error_);
  const bool off = std::abs(error) > limit;
  in_a_row_ = !off ? 0 : error > 0 ? std::max(0, in_a_row_) + 1 : std::min(0, in_a_row_) - 1;
  if (std::abs(in_a_row_) >= kRowToDoubt) doubt();
  const bool believed = seen_ < 1 || !off || std::abs(in_a_row_) >= kRowToDoubt;
  const double counted = believed ? ratio : fitted * std::exp(std::clamp(error, -kFarOff, kFarOff));
  fit_.learn(shares, std::min(counted, kSlowest));
  for (std::size_t i = 0; i < N; ++i)
    usual_shares_[i] += (seen_ < 1 ? 1 : kSpreadWeight) * (shares[i] - usual_shares_[i]);
  // What is off is either a hiccup or about to be doubted: the spread that tells them apart must not follow
  // it.
  if (!off) squared_error_ += kSpreadWeight * (error * error - squared_error_);
  squared_error_ = std::max(squared_error_, kNarrowestSpread * kNarrowestSpread);
  seen_ = seen_ * kForget + 1;
}

template <std::size_t N>
void SpeedCorrection::Phase<N>::doubt() {
  fit_.doubt();
  seen_ = std::min(seen_, 1.0);
  squared_error_ = std::min(squared_error_, kFirstSpread * kFirstSpread);
}

template <std::size_t N>
SpeedFactor SpeedCorrection::Phase<N>::summary() const {
  return {.factor = fit_.predict(usual_shares_), .seen = seen_, .spread = std::sqrt(squared_error_)};
}

SpeedCorrection::SpeedCorrection() = default;

void SpeedCorrection::saw_step(const SpeedProfile& profile, double sequences, double context,
                               Seconds measured) {
  const double predicted = profile.step(sequences, context).count();
  if (predicted <= 0) return;
  const double by_sequence = profile.per_sequence * sequences / predicted;
  const double by_context = profile.per_context_token * context / predicted;
  decode_.saw({1 - by_sequence - by_context, by_sequence, by_context}, measured.count() / predicted);
}

void SpeedCorrection::saw_prefill(const SpeedProfile& profile, double tokens, double pairs,
                                  Seconds measured) {
  const double predicted = profile.per_prompt_token * tokens + profile.per_prompt_pair * pairs;
  if (predicted <= 0) return;
  const double by_token = profile.per_prompt_token * tokens / predicted;
  prefill_.saw({by_token, 1 - by_token}, measured.count() / predicted);
}

SpeedFactor SpeedCorrection::decode() const {
  return decode_.summary();
}

SpeedFactor SpeedCorrection::prefill() const {
  return prefill_.summary();
}

void SpeedCorrection::doubt() {
  decode_.doubt();
  prefill_.doubt();
}

SpeedProfile SpeedCorrection::applied_to(const SpeedProfile& profile) const {
  SpeedProfile corrected = profile;
  const auto& decode = decode_.multipliers();
  const auto& prefill = prefill_.multipliers();
  corrected.step_floor *= decode[0];
  corrected.expert_weights *= decode[0];
  corrected.per_sequence *= decode[1];
  corrected.per_context_token *= decode[2];
  corrected.per_prompt_token *= prefill[0];
  corrected.per_prompt_pair *= prefill[1];
  return corrected;
}

}  // namespace fareway
