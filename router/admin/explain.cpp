#include "router/admin/explain.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "router/admin/figures.hpp"

namespace fareway {

namespace {

/// Differences below this are rounding, as in the decision itself.
constexpr double kSameDollars = 1e-12;
constexpr std::size_t kNamesShown = 3;

/// What a failed constraint says of one replica, and of several.
struct Phrase {
  std::string_view constraint;
  std::string_view one;
  std::string_view many;
};
constexpr std::array kPhrases{
    Phrase{"tenant", "may not serve this tenant", "may not serve this tenant"},
    Phrase{"region", "is outside the tenant's regions", "are outside the tenant's regions"},
    Phrase{"price_ceiling", "is dearer than the tenant allows", "are dearer than the tenant allows"},
    Phrase{"rule", "is kept out by a rule", "are kept out by a rule"},
    Phrase{"rule_cap", "has as many requests as a rule allows", "have as many requests as a rule allows"},
    Phrase{"format", "cannot run its checkpoint's number format",
           "cannot run their checkpoint's number format"},
    Phrase{"health", "is out of rotation", "are out of rotation"},
    Phrase{"draining", "is being drained", "are being drained"},
    Phrase{"asleep", "is asleep", "are asleep"},
    Phrase{"failed_before", "already failed this request", "already failed this request"},
};

/// "a", "a and b", "a, b and c", "a, b, c and 4 more".
std::string listed(const std::vector<std::string_view>& names) {
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown)));
  if (names.size() > shown.size()) shown.push_back(fmt::format("{} more", names.size() - shown.size()));
  if (shown.size() == 1) return shown.front();
  const std::string last = std::move(shown.back());
  shown.pop_back();
  return fmt::format("{} and {}", fmt::join(shown, ", "), last);
}

/// What the constraint says of `count` replicas, without its name.
std::string verdict(std::string_view constraint, std::size_t count, const RequestShape& shape) {
  if (constraint == "context") {
    return fmt::format("cannot hold {} tokens", with_commas(shape.context_needed().value));
  }
  const auto phrase = std::ranges::find(kPhrases, constraint, &Phrase::constraint);
  if (phrase == kPhrases.end()) return count == 1 ? "is excluded" : "are excluded";
  return std::string(count == 1 ? phrase->one : phrase->many);
}

/// What kept a candidate out: the constraint, and of several rules which one.
struct Exclusion {
  std::string_view constraint;
  std::string_view rule;
  bool operator==(const Exclusion&) const = default;
};

Exclusion exclusion(const Candidate& candidate) {
  return {.constraint = candidate.excluded_by, .rule = candidate.rule};
}

/// The name of the constraint, and of the rule where it is one.
std::string name_of(const Exclusion& exclusion) {
  if (exclusion.rule.empty()) return std::string(exclusion.constraint);
  return fmt::format("{} {}", exclusion.constraint, exclusion.rule);
}

/// One clause a constraint or rule, in the order in which they first appear.
std::vector<std::string> exclusions(const RequestShape& shape, const Decision& decision, const Fleet& fleet) {
  std::vector<Exclusion> kinds;
  for (const Candidate& candidate : decision.candidates) {
    if (candidate.excluded_by.empty()) continue;
    if (std::ranges::find(kinds, exclusion(candidate)) == kinds.end()) kinds.push_back(exclusion(candidate));
  }
  std::vector<std::string> clauses;
  for (const Exclusion& kind : kinds) {
    std::vector<std::string_view> names;
    for (const Candidate& candidate : decision.candidates)
      if (exclusion(candidate) == kind) names.push_back(fleet[candidate.replica].name);
    clauses.push_back(fmt::format("{} {} ({})", listed(names), verdict(kind.constraint, names.size(), shape),
                                  name_of(kind)));
  }
  return clauses;
}

std::string cheaper_gpu(const Candidate& chosen, const Candidate& other) {
  if (chosen.cached > other.cached && chosen.added_work < other.added_work)
    return fmt::format("{} more tokens of the prompt are cached there",
                       with_commas((chosen.cached - other.cached).value));
  if (chosen.added_work < other.added_work)
    return fmt::format("fewer GPU seconds ({:.2g} against {:.2g})", chosen.added_work.count(),
                       other.added_work.count());
  return "cheaper GPU seconds";
}

/// The term in which `other` is dearest by comparison, in words.
std::string advantage(const Candidate& chosen, const Candidate& other) {
  const double gpu = (other.score.gpu - chosen.score.gpu).value;
  const double own = (other.score.own_miss - chosen.score.own_miss).value;
  const double others = (other.score.others_miss - chosen.score.others_miss).value;
  const double preference = (other.score.preference - chosen.score.preference).value;
  if (preference > std::max({gpu, own, others})) return "a rule prefers its pool";
  if (gpu >= own && gpu >= others) return cheaper_gpu(chosen, other);
  if (own >= others)
    return fmt::format("likelier to meet the objective ({} to miss it against {})",
                       percent(chosen.prediction.miss_probability),
                       percent(other.prediction.miss_probability));
  return "makes fewer others miss theirs";
}

std::string why_chosen(const Candidate& chosen, const Decision& decision, const Fleet& fleet) {
  const std::string cost =
      fmt::format("{} costs {}", fleet[chosen.replica].name, dollars(chosen.score.total().value));
  const Candidate* second = runner_up(decision);
  if (second == nullptr) {
    return cost + (decision.candidates.size() == 1 ? ": the only replica of the model"
                                                   : ": the only replica that can serve it");
  }
  const std::string& other = fleet[second->replica].name;
  const double less = (second->score.total() - chosen.score.total()).value;
  if (less <= kSameDollars)
    return fmt::format("{}, as much as {}: chosen among equals at random", cost, other);
  return fmt::format("{}, {} less than {}: {}", cost, dollars(less), other, advantage(chosen, *second));
}

}  // namespace

const Candidate* runner_up(const Decision& decision) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : decision.candidates) {
    if (!candidate.excluded_by.empty() || candidate.replica == decision.chosen) continue;
    if (best == nullptr || candidate.score.total() < best->score.total()) best = &candidate;
  }
  return best;
}

std::optional<Usd> margin(const Decision& decision) {
  const Candidate* chosen = decision.chosen_candidate();
  const Candidate* second = runner_up(decision);
  if (chosen == nullptr || second == nullptr) return std::nullopt;
  return second->score.total() - chosen->score.total();
}

std::string exclusion_of(const Candidate& candidate) {
  return name_of(exclusion(candidate));
}

std::string explain(const RequestShape& shape, const Decision& decision, const Fleet& fleet) {
  if (decision.candidates.empty()) return "No replica runs the model";
  const auto excluded = exclusions(shape, decision, fleet);
  const Candidate* chosen = decision.chosen_candidate();
  if (chosen == nullptr) return fmt::format("No replica can serve it: {}", fmt::join(excluded, "; "));
  std::string sentence = why_chosen(*chosen, decision, fleet);
  for (const std::string& clause : excluded) sentence += "; " + clause;
  return sentence;
}

}  // namespace fareway
