#include "router/observe/decision_log.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <xxhash.h>

namespace fareway {

std::optional<Seconds> lateness_of(const DecisionRecord& record, const Fleet& fleet) {
  if (record.outcome != Outcome::kComplete || !record.duration) return std::nullopt;
  ServedTimes times{
      .prompt = record.shape.prompt, .ttft = record.ttft, .duration = *record.duration, .output = {}};
  if (record.usage) {
    times.prompt = record.usage->prompt;
    times.output = record.usage->completion;
  }
  return fleet[record.shape.service_class].lateness(times);
}

DecisionLog::DecisionLog(std::size_t capacity, double sample)
    : capacity_(std::max<std::size_t>(capacity, 1)), sample_(sample) {}

bool DecisionLog::sampled(const std::string& request_id) const {
  if (sample_ >= 1) return true;
  // Not std::hash, which differs between standard libraries: routers would not choose alike.
  const std::uint64_t hash = XXH3_64bits(request_id.data(), request_id.size());
  constexpr double kTwoTo32 = 4294967296.0;
  return static_cast<double>(hash >> 32U) / kTwoTo32 < sample_;
}

std::shared_ptr<DecisionRecord> DecisionLog::open(std::string request_id) {
  auto record = std::make_shared<DecisionRecord>();
  record->request_id = std::move(request_id);
  if (!sampled(record->request_id)) return record;
  if (records_.size() == capacity_) {
    const auto oldest = by_id_.find(records_.front()->request_id);
    // A later record may have taken over the id; then it is not the oldest one's to give up.
    if (oldest != by_id_.end() && oldest->second == records_.front()) by_id_.erase(oldest);
    records_.pop_front();
  }
  by_id_[record->request_id] = record;
  return records_.emplace_back(std::move(record));
}

std::shared_ptr<const DecisionRecord> DecisionLog::find(const std::string& request_id) const {
  const auto found = by_id_.find(request_id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const DecisionRecord>> DecisionLog::latest(std::size_t count) const {
  const auto taken = static_cast<std::ptrdiff_t>(std::min(count, records_.size()));
  return {records_.rbegin(), records_.rbegin() + taken};
}

}  // namespace fareway
