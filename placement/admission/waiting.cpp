#include "placement/admission/waiting.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace fareway {
namespace {

constexpr double kInNinetyNineOfHundred = 2.33;  // Φ⁻¹(0.99)
// Both chosen on the traces of docs/placement.md at two and three times the load they are served at; from 0.7
// to 1 and from 0.05 to 0.5 little changes.
constexpr double kGainToPlace = 0.8;
constexpr double kHarmOfTheLate = 0.3;
constexpr double kHardlyAny = 0.05;  // of V: nobody looks closer
constexpr double kNominalUsdPerSecond = 1e-6;
/// Later than anybody waits.
constexpr std::chrono::hours kVeryLong{24 * 365};

/// The request on one replica that has nothing else to do.
struct Alone {
  Seconds ttft{};
  Seconds tpot{};
  Usd work;
};

Alone alone_on(const RequestShape& shape, const Fleet& fleet, ReplicaIndex index) {
  const Replica& replica = fleet[index];
  const SpeedProfile& speed = fleet.speed(replica);
  const auto prompt = static_cast<double>(shape.prompt.value);
  const auto output = static_cast<double>(shape.expected_output.value);
  const auto cached = static_cast<double>(fleet.prefixes.cached(index, shape).value);
  const Seconds step = speed.step(1, prompt + output / 2);
  const Seconds added = speed.added_work(prompt - cached, cached, output);
  return {.ttft = speed.prefill(prompt - cached, cached) + step,
          .tpot = step,
          .work = work_of(fleet, replica, added)};
}

/// Probability that `predicted` exceeds `target`, and nothing where there is no target.
double misses(std::optional<Seconds> target, Seconds predicted, double spread, Seconds offset = {}) {
  if (!target || predicted <= Seconds{0}) return 0;
  return 0.5 *
         std::erfc(std::log((*target + offset) / (predicted + offset)) / (spread * std::numbers::sqrt2));
}

TimePoint after(TimePoint from, Seconds time) {
  return from + std::chrono::duration_cast<TimePoint::duration>(std::min<Seconds>(time, kVeryLong));
}

}  // namespace

Usd work_of(const Fleet& fleet, const Replica& replica, Seconds added) {
  const double usd_per_second = to_usd_per_hour(fleet.group_rate(replica)).value / 3600;
  return {std::max(usd_per_second, kNominalUsdPerSecond) * added.count()};
}

Waiting placed_at_once(const RequestShape& shape, const Candidate& chosen, const Fleet& fleet) {
  return {.model = shape.model,
          .service_class = shape.service_class,
          .tenant = shape.tenant,
          .work = work_of(fleet, fleet[chosen.replica], chosen.added_work),
          .unavoidable = {}};
}

Waiting waiting_of(const RequestShape& shape, const Fleet& fleet, TimePoint arrived, Seconds patience) {
  const ServiceClass& objective = fleet[shape.service_class];
  const auto output = static_cast<double>(shape.expected_output.value);
  const auto ttft_target = objective.ttft_target(shape.prompt);
  const auto tpot_target = objective.tpot_target(output);
  Waiting waiting{.model = shape.model,
                  .service_class = shape.service_class,
                  .tenant = shape.tenant,
                  .arrived = arrived,
                  .in_time_until = arrived,
                  .gives_up = after(arrived, std::max(patience, objective.deadline.value_or(patience)))};
  double least_missed = 1;
  std::optional<Usd> least_work;
  for (std::uint32_t i = 0; i < fleet.replicas.size(); ++i) {
    const Replica& replica = fleet.replicas[i];
    if (fleet[replica.deployment].model != shape.model) continue;
    const Alone alone = alone_on(shape, fleet, ReplicaIndex{i});
    const Spread& spread = replica.errors[kind_of(shape.service_class, shape.prompt)];
    const double widest = std::max(spread.ttft, spread.tpot);
    if (!least_work || alone.work < *least_work) least_work = alone.work;
    const Seconds whole = alone.ttft + alone.tpot * output;
    const double met = (1 - misses(ttft_target, alone.ttft, spread.ttft, kTtftOffset)) *
                       (1 - misses(tpot_target, alone.tpot, spread.tpot)) *
                       (1 - misses(objective.deadline, whole, widest));
    least_missed = std::min(least_missed, 1 - met);
    const double luck = std::exp(-kInNinetyNineOfHundred * widest);
    if (tpot_target && alone.tpot * luck > *tpot_target) continue;  // in vain, however soon it begins
    Seconds slack = kVeryLong;
    if (ttft_target) slack = std::min(slack, *ttft_target - alone.ttft * luck);
    if (objective.deadline) slack = std::min(slack, *objective.deadline - whole * luck);
    waiting.in_time_until = std::max(waiting.in_time_until, after(arrived, slack));
  }
  waiting.work = least_work.value_or(Usd{});
  waiting.unavoidable = objective.miss * least_missed;
  return waiting;
}

Standing standing_of(const Choice& choice, const Waiting& waiting, TimePoint now) {
  if (!choice.chosen) return Standing::kNobody;
  if (!choice.refuse_dollars) return Standing::kFits;
  const Score& score = choice.chosen->score;
  const double worth = choice.refuse_dollars->value;
  const bool in_vain = waiting.unavoidable.value > worth / 2;
  if (in_vain || now >= waiting.in_time_until)
    return score.others_miss.value <= kHarmOfTheLate * worth ? Standing::kFits : Standing::kWaits;
  const double avoidable = (score.own_miss + score.others_miss - waiting.unavoidable).value;
  const double gain = worth - waiting.unavoidable.value;
  return avoidable <= kGainToPlace * gain ? Standing::kFits : Standing::kWaits;
}

bool fits_plainly(const Choice& choice) {
  if (!choice.chosen) return false;
  const Score& score = choice.chosen->score;
  return !choice.refuse_dollars ||
         (score.own_miss + score.others_miss).value <= kHardlyAny * choice.refuse_dollars->value;
}

}  // namespace fareway
