#include "router/observe/decision_log.hpp"

#include <algorithm>
#include <utility>

namespace fareway {

DecisionLog::DecisionLog(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

std::shared_ptr<DecisionRecord> DecisionLog::open(std::string request_id) {
  if (records_.size() == capacity_) {
    const auto oldest = by_id_.find(records_.front()->request_id);
    // A later record may have taken over the id; then it is not the oldest one's to give up.
    if (oldest != by_id_.end() && oldest->second == records_.front()) by_id_.erase(oldest);
    records_.pop_front();
  }
  auto record = std::make_shared<DecisionRecord>();
  record->request_id = std::move(request_id);
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
