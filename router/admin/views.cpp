#include "router/admin/views.hpp"

#include <algorithm>

namespace fareway {

namespace {

ReplicaView view_of(const Replica& replica, const Meter& meter, std::optional<TokensPerSecond> generating) {
  const auto decoding = static_cast<std::size_t>(std::ranges::count_if(
      replica.in_flight, [](const InFlight& request) { return request.first_token.has_value(); }));
  return {.health = replica.health,
          .draining = replica.draining,
          .reading = replica.reading,
          .read_at = replica.read_at,
          .decoding = decoding,
          .before_first_token = replica.in_flight.size() - decoding,
          .errors = replica.errors.widest(),
          .prefill = replica.correction.prefill(),
          .decode = replica.correction.decode(),
          .rate = meter.rate(),
          .charged = meter.charged(),
          .unsettled = meter.unsettled(),
          .idle = meter.idle(),
          .generating = generating};
}

}  // namespace

FleetView view_of(const LiveFleet& fleet, const ThroughputWindow& throughput, TimePoint now,
                  WallTime wall_now) {
  FleetView view{.now = now,
                 .wall_now = wall_now,
                 .pool_prices = {},
                 .replicas = {},
                 .slow_downs = slow_downs(fleet.fleet())};
  for (const Pool& pool : fleet.fleet().pools) view.pool_prices.push_back(pool.per_device_hour);
  view.replicas.reserve(fleet.fleet().replicas.size());
  for (std::uint32_t i = 0; i < fleet.fleet().replicas.size(); ++i) {
    const ReplicaIndex index{i};
    view.replicas.push_back(view_of(fleet.fleet()[index], fleet.meter(index), throughput.rate(index, now)));
  }
  return view;
}

std::vector<QueueView> view_of(const AdmissionQueue& queue, const Fleet& fleet) {
  std::vector<QueueView> views;
  for (std::uint32_t model = 0; model < fleet.models.size(); ++model) {
    for (std::uint32_t one = 0; one < fleet.classes.size(); ++one) {
      const AdmissionQueue::Depth depth = queue.depth({model}, {one});
      if (depth.requests > 0) views.push_back({{model}, {one}, depth});
    }
  }
  return views;
}

std::vector<std::size_t> serving_by_model(const Fleet& fleet) {
  std::vector<std::size_t> serving(fleet.models.size(), 0);
  for (const Replica& replica : fleet.replicas) {
    if (replica.health.serving() && !replica.draining) ++serving[fleet[replica.deployment].model.value];
  }
  return serving;
}

DecisionRecord view_of(const DecisionRecord& record) {
  DecisionRecord view;
  view.request_id = record.request_id;
  view.decided_at = record.decided_at;
  view.tenant = record.tenant;
  view.shape.model = record.shape.model;
  view.shape.service_class = record.shape.service_class;
  view.shape.tenant = record.shape.tenant;
  view.shape.prompt = record.shape.prompt;
  view.shape.expected_output = record.shape.expected_output;
  view.shape.output_limit = record.shape.output_limit;
  view.shape.session = record.shape.session;
  view.queue = record.queue;
  view.shape.waited = record.shape.waited;
  view.attempts = record.attempts;
  view.outcome = record.outcome;
  view.status = record.status;
  view.ttft = record.ttft;
  view.duration = record.duration;
  view.usage = record.usage;
  view.cost = record.cost;
  view.price = record.price;
  return view;
}

}  // namespace fareway
