#include "router/observe/throughput.hpp"

#include <algorithm>

namespace fareway {

ThroughputWindow::ThroughputWindow(std::size_t replicas) : samples_(replicas) {}

void ThroughputWindow::fleet_changed(const Fleet& fleet) {
  const std::size_t known = std::min(samples_.size(), fleet.replicas.size());
  for (std::size_t i = 0; i < known; ++i) {
    const Replica& replica = fleet.replicas[i];
    if (!replica.reading || !replica.reading->generated_tokens) continue;
    auto& samples = samples_[i];
    const Sample sample{replica.read_at, *replica.reading->generated_tokens};
    if (!samples.empty() && sample.read_at <= samples.back().read_at) continue;
    // A counter that fell belongs to an engine that restarted: what it counted before is another series.
    if (!samples.empty() && sample.generated < samples.back().generated) samples.clear();
    samples.push_back(sample);
    while (sample.read_at - samples.front().read_at > kWindow) samples.pop_front();
  }
}

std::optional<TokensPerSecond> ThroughputWindow::rate(ReplicaIndex replica, TimePoint now) const {
  if (replica.value >= samples_.size()) return std::nullopt;
  const auto& samples = samples_[replica.value];
  if (samples.size() < 2 || now - samples.back().read_at > kStale) return std::nullopt;
  const Seconds span = samples.back().read_at - samples.front().read_at;
  const auto generated = static_cast<double>(samples.back().generated - samples.front().generated);
  return TokensPerSecond{generated / span.count()};
}

}  // namespace fareway
