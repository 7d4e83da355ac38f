#include "placement/speed/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "placement/catalogue/measurements.hpp"
#include "placement/speed/closed_loop.hpp"
#include "placement/speed/speed_answer.hpp"

namespace fareway {
namespace {

constexpr double kMostClients = 1024;    // an engine's seats, generously
constexpr double kStepOfClients = 1.25;  // between neighbouring points of a curve
constexpr double kFlipWithin = 0.1;      // tok/s a user

std::vector<OperatingPoint> operating_points(const NamedDeployment& deployment, const SpeedEstimate& estimate,
                                             const ComparisonLoad& load, double sessions) {
  const auto read = loop_reader(estimate, deployment.speculation.has_value());
  std::vector<OperatingPoint> points;
  const double most = std::min(sessions, kMostClients);
  for (double clients = 1; clients <= most;
       clients = std::max(clients + 1, std::floor(clients * kStepOfClients))) {
    const LoopReading loop = read({load.input_tokens, load.output_tokens, clients});
    points.push_back({.interactivity = 1 / loop.tpot.count(),
                      .throughput = clients / loop.tpot.count(),
                      .extrapolated = loop.extrapolated});
  }
  return points;
}

std::optional<std::size_t> cheapest_at(const std::vector<DeploymentCurve>& curves, double interactivity) {
  const std::vector<RankedOffer> order = ranked_at(curves, interactivity);
  if (order.empty()) return std::nullopt;
  return order.front().index;
}

}  // namespace

double DeploymentCurve::dollars_an_hour() const {
  return offer.per_device_hour.value * offer.deployment.parallelism.devices();
}

DeploymentCurve curve_of(const PricedDeployment& offer, const ComparisonLoad& load,
                         Bytes reserve_per_device) {
  const NamedDeployment& deployment = offer.deployment;
  const double context = load.input_tokens + load.output_tokens;
  const SpeedAnswer answer = answer_speed(deployment, context, 1, reserve_per_device);
  DeploymentCurve curve{.offer = offer, .estimate = answer.estimate, .frontier = Frontier{{}}};
  curve.cold_ttft = cold_ttft(answer.estimate.profile, answer.estimate.first_token, load.input_tokens);
  if (answer.kv_pool.value < 0) {
    curve.excluded = "the weights do not fit";
  } else if (answer.sessions < 1) {
    curve.excluded = "not one sequence of this length fits";
  } else if (load.ttft && curve.cold_ttft > *load.ttft) {
    curve.excluded = "its cold prefill alone misses the TTFT target";
  } else {
    curve.frontier =
        Frontier{operating_points(deployment, curve.estimate, load, static_cast<double>(answer.sessions))};
  }
  return curve;
}

std::vector<RankedOffer> ranked(const std::vector<Throughput>& offers) {
  std::vector<RankedOffer> order;
  for (const Throughput& offer : offers) {
    const UsdPerHour rate = offer.per_device_hour * offer.devices;
    order.push_back({.index = offer.index,
                     .tokens_per_second = offer.tokens_per_second,
                     .tokens_per_dollar_hour = offer.tokens_per_second / rate.value,
                     .per_mtok = rate / TokensPerSecond{offer.tokens_per_second},
                     .extrapolated = offer.extrapolated});
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, &RankedOffer::tokens_per_dollar_hour);
  for (RankedOffer& each : order) {
    const auto own = std::ranges::find(offers, each.index, &Throughput::index);
    each.break_even_device_hour =
        UsdPerHour{each.tokens_per_second / own->devices / order.front().tokens_per_dollar_hour};
  }
  return order;
}

std::vector<RankedOffer> ranked_at(const std::vector<DeploymentCurve>& curves, double interactivity) {
  std::vector<Throughput> offers;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto point = curves[i].frontier.at(interactivity);
    if (!point) continue;
    offers.push_back({.index = i,
                      .devices = static_cast<double>(curves[i].offer.deployment.parallelism.devices()),
                      .per_device_hour = curves[i].offer.per_device_hour,
                      .tokens_per_second = point->throughput,
                      .extrapolated = point->extrapolated});
  }
  return ranked(offers);
}

std::vector<RankedOffer> ranked_as_published(const std::vector<DeploymentCurve>& curves) {
  std::vector<Throughput> offers;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const MeasuredDeployment* measured = curves[i].estimate.measured;
    if (measured == nullptr || !measured->aggregate || curves[i].offer.deployment.speculation) continue;
    offers.push_back({.index = i,
                      .devices = static_cast<double>(curves[i].offer.deployment.parallelism.devices()),
                      .per_device_hour = curves[i].offer.per_device_hour,
                      .tokens_per_second = measured->aggregate->value});
  }
  return ranked(offers);
}

std::vector<Flip> flips(const std::vector<DeploymentCurve>& curves) {
  double fastest = 0;
  for (const DeploymentCurve& curve : curves) fastest = std::max(fastest, curve.frontier.fastest());
  std::vector<Flip> found;
  std::optional<std::size_t> leader = cheapest_at(curves, 0);
  for (double at = kFlipWithin; at <= fastest; at += kFlipWithin) {
    const auto next = cheapest_at(curves, at);
    if (next && leader && *next != *leader)
      found.push_back({.interactivity = at, .from = *leader, .to = *next});
    leader = next;
  }
  return found;
}

}  // namespace fareway
