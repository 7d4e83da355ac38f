#include "placement/simulation/load_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <coin/ClpSimplex.hpp>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

namespace fareway::simulation {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kBatches{1.0, 4.0, 16.0, 32.0, 64.0, 96.0, 128.0, 256.0};

/// Requests of one class and of about the same lengths; sums until `average`.
struct Kind {
  ClassIndex service_class;
  double count{0};
  double prompt{0};
  double cached{0};
  double output{0};
};

int octave(double value) {
  return static_cast<int>(std::floor(std::log2(std::max(value, 1.0))));
}

/// Prompt tokens whose blocks came by before.
std::int64_t seen_before(const Arrival& arrival, boost::unordered_flat_set<BlockId>& seen) {
  std::int64_t blocks = 0;
  while (blocks < std::ssize(arrival.blocks) &&
         seen.contains(arrival.blocks[static_cast<std::size_t>(blocks)]))
    ++blocks;
  seen.insert(arrival.blocks.begin(), arrival.blocks.end());
  return std::clamp<std::int64_t>(blocks * kTraceBlockTokens, 0, arrival.prompt - 1);
}

std::vector<Kind> kinds_of(std::span<const Arrival> arrivals) {
  std::map<std::tuple<std::uint32_t, int, int, int>, Kind> groups;
  boost::unordered_flat_set<BlockId> seen;
  for (const Arrival& arrival : arrivals) {
    const auto cached = static_cast<double>(seen_before(arrival, seen));
    const auto prompt = static_cast<double>(arrival.prompt);
    const auto output = static_cast<double>(arrival.output);
    Kind& kind =
        groups[{arrival.service_class.value, octave(prompt), octave(prompt - cached), octave(output)}];
    kind.service_class = arrival.service_class;
    kind.count += 1;
    kind.prompt += prompt;
    kind.cached += cached;
    kind.output += output;
  }
  std::vector<Kind> kinds;
  for (auto& [key, kind] : groups) {
    kind.prompt /= kind.count;
    kind.cached /= kind.count;
    kind.output /= kind.count;
    kinds.push_back(kind);
  }
  return kinds;
}

struct Mode {
  std::size_t pool{};
  double batch{};
  double tpot{};  // seconds; infinite where nobody minds
};

/// Columns: rate, then the time of each mode, then flow of a kind through a mode. All at least 0, all rows at
/// most their limit.
class Program {
 public:
  Program(const std::vector<Kind>& kinds, const ReferenceScene& scene, double target)
      : kinds_(kinds), scene_(scene), target_(target) {
    for (const Kind& kind : kinds_) requests_ += kind.count;
    for (std::uint32_t i = 0; i < scene.fleet.pools.size(); ++i) {
      const auto first = std::ranges::find(scene.fleet.replicas, PoolIndex{i}, &Replica::pool);
      speeds_.push_back(scene.engines[static_cast<std::size_t>(first - scene.fleet.replicas.begin())].speed);
      replicas_.push_back(
          static_cast<double>(std::ranges::count(scene.fleet.replicas, PoolIndex{i}, &Replica::pool)));
    }
    list_modes();
  }

  double solve() {
    add_rate();
    for (std::size_t m = 0; m < modes_.size(); ++m) add_mode(m);
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      for (std::size_t m = 0; m < modes_.size(); ++m) add_flow(k, m);

    const int row_count = flow_row(modes_.size() - 1) + 1;
    std::vector<double> at_most(static_cast<std::size_t>(row_count), 0);
    for (std::size_t pool = 0; pool < replicas_.size(); ++pool)
      at_most[static_cast<std::size_t>(pool_row(pool))] = replicas_[pool];
    const int columns = static_cast<int>(starts_.size()) - 1;
    std::vector<double> objective(static_cast<std::size_t>(columns), 0);
    objective.front() = 1;
    ClpSimplex model;
    model.setLogLevel(0);
    model.loadProblem(columns, row_count, starts_.data(), rows_.data(), values_.data(), nullptr, nullptr,
                      objective.data(), nullptr, at_most.data());
    model.setOptimizationDirection(-1);
    model.primal();  // nothing served is feasible, so it begins there
    return model.isProvenOptimal() ? model.objectiveValue() : 0;
  }

 private:
  // Rows, in this order: one a kind (served at most as it comes), one for the target (enough is served), one
  // a pool (its replicas' time), two a mode (its work fits its time; its tokens flow fast enough).
  int kind_row(std::size_t kind) const { return static_cast<int>(kind); }
  int target_row() const { return static_cast<int>(kinds_.size()); }
  int pool_row(std::size_t pool) const { return target_row() + 1 + static_cast<int>(pool); }
  int work_row(std::size_t mode) const { return pool_row(replicas_.size()) + 2 * static_cast<int>(mode); }
  int flow_row(std::size_t mode) const { return work_row(mode) + 1; }

  void add(int row, double value) {
    rows_.push_back(row);
    values_.push_back(value);
  }
  void end_column() { starts_.push_back(static_cast<CoinBigIndex>(rows_.size())); }

  void add_rate() {
    for (std::size_t k = 0; k < kinds_.size(); ++k) add(kind_row(k), -kinds_[k].count / requests_);
    add(target_row(), target_);
    end_column();
  }

  void add_mode(std::size_t m) {
    add(pool_row(modes_[m].pool), 1);
    add(work_row(m), -1);
    if (std::isfinite(modes_[m].tpot)) add(flow_row(m), modes_[m].batch / modes_[m].tpot);
    end_column();
  }

  void add_flow(std::size_t k, std::size_t m) {
    const Kind& kind = kinds_[k];
    const Mode& mode = modes_[m];
    const SpeedProfile& speed = speeds_[mode.pool];
    const ServiceClass& objective = scene_.fleet[kind.service_class];
    const double prefill = speed.prefill(kind.prompt - kind.cached, kind.cached).count();
    const auto ttft = objective.ttft_target({std::llround(kind.prompt)});
    if (ttft && prefill + speed.step_floor > ttft->count()) return;
    const auto tpot = objective.tpot_target(kind.output - 1);
    if (tpot && mode.tpot > tpot->count() * 1.0001) return;
    const double shared = speed.step(mode.batch, 0).count() / mode.batch;
    const double decode = kind.output * (shared + speed.per_context_token * (kind.prompt + kind.output / 2));
    add(kind_row(k), 1);
    add(target_row(), -1);
    add(work_row(m), prefill + decode);
    add(flow_row(m), -kind.output);
    end_column();
  }

  void list_modes() {
    std::vector<double> limits{kInfinity};
    for (const ServiceClass& objective : scene_.fleet.classes) {
      if (!objective.tpot) continue;
      for (const double looser : {1.0, 2.5}) limits.push_back(objective.tpot->count() * looser);
    }
    std::ranges::sort(limits);
    limits.erase(std::ranges::unique(limits).begin(), limits.end());
    for (std::size_t pool = 0; pool < speeds_.size(); ++pool)
      for (const double batch : kBatches)
        for (const double limit : limits)
          if (speeds_[pool].step(batch, 0).count() < limit) modes_.push_back({pool, batch, limit});
  }

  const std::vector<Kind>& kinds_;
  const ReferenceScene& scene_;
  double target_;
  double requests_{0};
  std::vector<SpeedProfile> speeds_;
  std::vector<double> replicas_;
  std::vector<Mode> modes_;
  std::vector<CoinBigIndex> starts_{0};
  std::vector<int> rows_;
  std::vector<double> values_;
};

}  // namespace

double load_bound(std::span<const Arrival> arrivals, const ReferenceScene& scene, double target) {
  const std::vector<Kind> kinds = kinds_of(arrivals);
  return kinds.empty() ? 0 : Program(kinds, scene, target).solve();
}

}  // namespace fareway::simulation
