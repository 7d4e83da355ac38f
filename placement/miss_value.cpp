#include "placement/miss_value.hpp"

namespace fareway {
namespace {

Usd typical_dollars(const Fleet& fleet, const Replica& replica) {
  if (!fleet[replica.pool].releasable()) return {};
  const Seconds work = fleet[replica.deployment].speed.added_work(
      static_cast<double>(kTypicalPrompt.value), 0, static_cast<double>(kTypicalOutput.value));
  return to_usd_per_hour(fleet.group_rate(replica)) * work;
}

std::optional<PriceSpread> price_spread(const Fleet& fleet, ModelIndex model) {
  std::optional<PriceSpread> spread;
  Usd least;
  Usd most;
  for (const Replica& replica : fleet.replicas) {
    if (fleet[replica.deployment].model != model) continue;
    const Usd dollars = typical_dollars(fleet, replica);
    if (!spread) {
      spread = PriceSpread{.model = model, .cheapest = replica.pool, .dearest = replica.pool, .gap = {}};
      least = most = dollars;
    }
    if (dollars < least) {
      least = dollars;
      spread->cheapest = replica.pool;
    }
    if (dollars > most) {
      most = dollars;
      spread->dearest = replica.pool;
    }
    spread->gap = most - least;
  }
  return spread && spread->cheapest != spread->dearest ? spread : std::nullopt;
}

}  // namespace

std::optional<PriceSpread> widest_price_spread(const Fleet& fleet) {
  std::optional<PriceSpread> widest;
  for (std::uint32_t model = 0; model < fleet.models.size(); ++model) {
    const auto spread = price_spread(fleet, ModelIndex{model});
    if (spread && (!widest || spread->gap > widest->gap)) widest = spread;
  }
  return widest;
}

Usd least_miss_value(Usd gap, double attainment) {
  return {gap.value / (1 - attainment)};
}

}  // namespace fareway
