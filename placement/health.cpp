#include "placement/health.hpp"

#include <algorithm>

namespace fareway {
namespace {

constexpr std::uint32_t kProbesToLeave = 2;
constexpr std::uint32_t kAnswersToLeave = 5;
constexpr std::chrono::seconds kFirstBackOff{5};
constexpr std::chrono::seconds kLongestBackOff{60};
constexpr std::chrono::minutes kBackOffForgotten{2};

}  // namespace

void ReplicaHealth::probe_succeeded(TimePoint began, TimePoint now) {
  failed_probes_ = 0;
  if (state_ == State::kServing) return;
  if (state_ == State::kOut && (began <= since_ || began < not_before_)) return;
  state_ = State::kServing;
  reason_.clear();
  since_ = now;
  failed_answers_ = 0;
}

void ReplicaHealth::probe_failed(std::string_view reason, TimePoint now) {
  ++failed_probes_;
  if (state_ == State::kUnknown) reason_ = reason;
  if (state_ == State::kServing && failed_probes_ >= kProbesToLeave) leave(reason, now);
}

void ReplicaHealth::connection_failed(TimePoint now) {
  leave("connection failed", now);
}

void ReplicaHealth::answer_succeeded() {
  failed_answers_ = 0;
}

void ReplicaHealth::answer_failed(TimePoint now) {
  if (state_ != State::kServing || ++failed_answers_ < kAnswersToLeave) return;
  // A replica that served well for a while starts over with the short back-off.
  back_off_ = now - since_ > kBackOffForgotten ? kFirstBackOff : std::min(back_off_ * 2, kLongestBackOff);
  leave("answers failed", now);
  not_before_ = now + back_off_;
}

void ReplicaHealth::leave(std::string_view reason, TimePoint now) {
  state_ = State::kOut;
  reason_ = reason;
  since_ = now;
}

}  // namespace fareway
