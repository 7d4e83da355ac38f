#include "placement/decision.hpp"

#include <algorithm>
#include <limits>

#include "placement/score/gpu.hpp"
#include "placement/score/others_miss.hpp"
#include "placement/score/own_miss.hpp"

namespace fareway {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();
constexpr float kSameDollars = 1e-12F;

/// Everything one decision reads and where it is worked out.
struct Question {
  const RequestShape& shape;
  const Fleet& fleet;
  const CandidateTable& table;
  std::span<const ReplicaIndex> excluded;
  TimePoint now;
  DecisionScratch& scratch;

  const ModelCandidates& candidates() const { return table.of(shape.model); }
  std::span<TileScore> scores() const { return std::span{scratch.tiles}.first(candidates().tiles.size()); }
};

void find_cached(const Question& question) {
  for (TileScore& score : question.scores()) score.cached.fill(0);
  const Tokens most = PrefixIndex::most_cached(question.shape);
  question.fleet.prefixes.visit_holders(question.shape, [&](ReplicaIndex replica, Tokens tokens) {
    const CandidateTable::Place& at = question.table.place(replica);
    if (at.model != question.shape.model) return;
    float& cached = question.scratch.tiles[at.tile].cached[at.lane];
    cached = std::max(cached, static_cast<float>(std::min(tokens, most).value));
  });
}

void check(const CandidateTile& __restrict tile, const Ask& ask, TileScore& __restrict score) {
  constexpr auto kContext = static_cast<std::uint32_t>(Violation::kContext);
  constexpr auto kNone = static_cast<std::uint32_t>(Violation::kNone);
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint32_t context = ask.context_needed > tile.context_limit[i] ? kContext : kNone;
    score.violated[i] = std::min(tile.violated[i], context);
    score.preference[i] = 0;
  }
}

/// What the rules of tenant and operator say of each pool; only asked where there are such rules.
void check_pools(const Question& question) {
  auto& verdicts = question.scratch.pools;
  verdicts.clear();
  auto& preferences = question.scratch.preferences;
  preferences.clear();
  for (std::uint32_t pool = 0; pool < question.fleet.pools.size(); ++pool) {
    verdicts.push_back(violated_by_pool(question.shape, question.fleet, PoolIndex{pool}));
    const Usd preference = question.fleet.rules.preference(question.shape.rules, PoolIndex{pool});
    preferences.push_back(-static_cast<float>(preference.value));
  }
  const auto& tiles = question.candidates().tiles;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    TileScore& score = question.scratch.tiles[t];
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::uint32_t pool = tiles[t].pool[i];
      score.violated[i] = std::min(score.violated[i], static_cast<std::uint32_t>(verdicts[pool]));
      score.preference[i] = preferences[pool];
    }
  }
}

void exclude_failed(const Question& question) {
  for (const ReplicaIndex replica : question.excluded) {
    const CandidateTable::Place& at = question.table.place(replica);
    if (at.model == question.shape.model)
      question.scratch.tiles[at.tile].violated[at.lane] =
          static_cast<std::uint32_t>(Violation::kFailedBefore);
  }
}

/// Cheapest of all, and how little the misses alone would cost anywhere.
struct Cheapest {
  float total{kNever};
  float misses{kNever};
};

Cheapest add_up(std::span<TileScore> scores) {
  constexpr auto kNone = static_cast<std::uint32_t>(Violation::kNone);
  FloatLanes totals;
  FloatLanes misses;
  totals.fill(kNever);
  misses.fill(kNever);
  for (TileScore& score : scores) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float missed = score.own_miss[i] + score.others_miss[i];
      const float total = score.gpu[i] + missed + score.preference[i];
      const bool feasible = score.violated[i] == kNone;
      score.total[i] = feasible ? total : kNever;
      totals[i] = std::min(totals[i], feasible ? total : kNever);
      misses[i] = std::min(misses[i], feasible ? missed : kNever);
    }
  }
  return {*std::ranges::min_element(totals), *std::ranges::min_element(misses)};
}

/// Position of the candidate taken; among equals the tie break decides, so that no name and no place is
/// favoured.
std::optional<std::size_t> pick(std::span<const TileScore> scores, float cheapest, std::uint64_t tie_break) {
  if (cheapest == kNever) return std::nullopt;
  const float most = cheapest + kSameDollars;
  std::uint32_t equals = 0;
  for (const TileScore& score : scores)
    for (std::size_t i = 0; i < kLanes; ++i) equals += score.total[i] <= most ? 1U : 0U;
  std::uint64_t skip = tie_break % equals;
  for (std::size_t t = 0; t < scores.size(); ++t)
    for (std::size_t i = 0; i < kLanes; ++i)
      if (scores[t].total[i] <= most && skip-- == 0) return t * kLanes + i;
  return std::nullopt;
}

struct Weighed {
  std::optional<std::size_t> position;
  float fewest_misses{kNever};
};

Weighed weigh(const Question& question) {
  const ModelCandidates& candidates = question.candidates();
  auto& tiles = question.scratch.tiles;
  if (tiles.size() < candidates.tiles.size()) tiles.resize(candidates.tiles.size());
  find_cached(question);
  const Ask ask = ask_of(question.shape, question.fleet[question.shape.service_class],
                         question.table.since_epoch(question.now));
  for (std::size_t t = 0; t < candidates.tiles.size(); ++t) {
    const CandidateTile& tile = candidates.tiles[t];
    const auto curves = std::span{candidates.curves}.subspan(t * kLanes).first<kLanes>();
    check(tile, ask, tiles[t]);
    price_gpu(tile, ask, tiles[t]);
    predict(tile, ask, tiles[t]);
    price_own_miss(tile, ask, tiles[t]);
    price_others_miss(tile, curves, ask, tiles[t]);
  }
  if (restricted(question.shape, question.fleet)) check_pools(question);
  exclude_failed(question);
  const Cheapest cheapest = add_up(question.scores());
  return {pick(question.scores(), cheapest.total, question.shape.tie_break), cheapest.misses};
}

std::string_view rule_behind(const Question& question, Violation violated, PoolIndex pool) {
  if (violated != Violation::kRule && violated != Violation::kRuleCap) return {};
  const RuleSet& rules = question.fleet.rules;
  const auto rule = violated == Violation::kRule
                        ? rules.always_excluding(question.shape.rules, pool)
                        : rules.excluding(question.shape.rules, pool, question.fleet.rule_in_flight);
  return rule ? std::string_view(rules.rules()[*rule].name) : std::string_view{};
}

Candidate candidate_at(const Question& question, std::size_t position) {
  const TileScore& score = question.scratch.tiles[position / kLanes];
  const std::size_t lane = position % kLanes;
  Candidate candidate{.replica = question.candidates().replicas[position],
                      .excluded_by = to_string(static_cast<Violation>(score.violated[lane]))};
  const Replica& replica = question.fleet[candidate.replica];
  if (replica.reading) candidate.reading_age = question.now - replica.read_at;
  if (!candidate.excluded_by.empty()) {
    candidate.rule = rule_behind(question, static_cast<Violation>(score.violated[lane]), replica.pool);
    return candidate;
  }
  candidate.cached = {static_cast<std::int64_t>(score.cached[lane])};
  candidate.added_work = Seconds{score.added_work[lane]};
  candidate.prediction = {.ttft = Seconds{score.ttft[lane]},
                          .tpot = Seconds{score.tpot[lane]},
                          .miss_probability = score.miss_probability[lane]};
  candidate.score = {.gpu = {score.gpu[lane]},
                     .own_miss = {score.own_miss[lane]},
                     .others_miss = {score.others_miss[lane]},
                     .preference = {score.preference[lane]}};
  return candidate;
}

std::optional<Usd> refuse_dollars(const Question& question) {
  const ServiceClass& objective = question.fleet[question.shape.service_class];
  if (objective.miss_per_second.value > 0) return std::nullopt;
  return objective.miss;
}

bool cheaper_to_refuse(const Weighed& weighed, std::optional<Usd> refusing) {
  return !weighed.position || (refusing && weighed.fewest_misses > refusing->value);
}

/// Hands `use` the question that was decided and what came of it: an estimate alone must not refuse what
/// would fit, so where nothing is feasible the shortest prompt that it may be is tried; the engine counts the
/// tokens and has the last word.
template <class Use>
auto weigh_leniently(const Question& question, Use use) {
  const Weighed strict = weigh(question);
  if (strict.position || question.shape.prompt_error <= 0) return use(question, strict);
  RequestShape shortest = question.shape;
  shortest.prompt = shortest.shortest_prompt();
  const Question lenient{shortest,          question.fleet, question.table,
                         question.excluded, question.now,   question.scratch};
  const Weighed weighed = weigh(lenient);
  return weighed.position ? use(lenient, weighed) : use(question, weigh(question));
}

}  // namespace

const Candidate* Decision::chosen_candidate() const {
  if (!chosen) return nullptr;
  const auto found = std::ranges::find(candidates, *chosen, &Candidate::replica);
  return found == candidates.end() ? nullptr : &*found;
}

bool Decision::hopeless() const {
  return !candidates.empty() && std::ranges::all_of(candidates, [](const Candidate& candidate) {
    return !candidate.excluded_by.empty() && permanent(candidate.excluded_by);
  });
}

Choice choose(const RequestShape& shape, const Fleet& fleet, const CandidateTable& table,
              std::span<const ReplicaIndex> excluded, TimePoint now, DecisionScratch& scratch) {
  return weigh_leniently({shape, fleet, table, excluded, now, scratch},
                         [](const Question& question, const Weighed& weighed) {
                           Choice choice{.refuse_dollars = refuse_dollars(question)};
                           choice.cheaper_to_refuse = cheaper_to_refuse(weighed, choice.refuse_dollars);
                           if (weighed.position) choice.chosen = candidate_at(question, *weighed.position);
                           return choice;
                         });
}

Decision decide(const RequestShape& shape, const Fleet& fleet, const CandidateTable& table,
                std::span<const ReplicaIndex> excluded, TimePoint now, DecisionScratch& scratch) {
  return weigh_leniently({shape, fleet, table, excluded, now, scratch},
                         [](const Question& question, const Weighed& weighed) {
                           Decision decision{.refuse_dollars = refuse_dollars(question)};
                           decision.cheaper_to_refuse = cheaper_to_refuse(weighed, decision.refuse_dollars);
                           const auto& replicas = question.candidates().replicas;
                           decision.candidates.reserve(replicas.size());
                           for (std::size_t i = 0; i < replicas.size(); ++i)
                             decision.candidates.push_back(candidate_at(question, i));
                           if (weighed.position) decision.chosen = replicas[*weighed.position];
                           return decision;
                         });
}

Decision decide(const RequestShape& shape, const Fleet& fleet, std::span<const ReplicaIndex> excluded,
                TimePoint now) {
  DecisionScratch scratch;
  return decide(shape, fleet, CandidateTable{fleet, now}, excluded, now, scratch);
}

}  // namespace fareway
