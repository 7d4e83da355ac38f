#include "router/config/problems.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace fareway {
namespace {

constexpr std::size_t kMostProblems = 100;
constexpr std::size_t kMostShownBytes = 60;
constexpr std::size_t kMostListed = 12;
/// Longer texts are no misspelt keys, and comparing them would cost their product.
constexpr std::size_t kLongestCompared = 48;

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Levenshtein distance that takes upper and lower case as equal.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string to_line(const std::string& file, const ConfigProblem& problem) {
  const std::string where = problem.line > 0 ? fmt::format("{}:{}", file, problem.line) : file;
  if (problem.path.empty()) return fmt::format("{}: {}", where, problem.what);
  return fmt::format("{}: {}: {}", where, problem.path, problem.what);
}

std::string to_text(const std::string& file, const std::vector<ConfigProblem>& problems) {
  std::string text;
  for (const ConfigProblem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += to_line(file, problem);
  }
  return text;
}

}  // namespace

ConfigError::ConfigError(std::string file, std::vector<ConfigProblem> problems)
    : std::runtime_error(to_text(file, problems)), file_(std::move(file)), problems_(std::move(problems)) {}

void Problems::add(int line, std::string path, std::string what) {
  found_.push_back({.line = line, .path = std::move(path), .what = std::move(what)});
}

std::vector<ConfigProblem> Problems::sorted() const {
  std::vector<std::size_t> order(found_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Problems of one line stay in the order in which they were found.
  std::ranges::sort(order, {}, [this](std::size_t i) { return std::pair{found_[i].line, i}; });
  std::vector<ConfigProblem> all;
  for (const std::size_t i : order) all.push_back(found_[i]);
  if (all.size() > kMostProblems) {
    const std::size_t more = all.size() - kMostProblems;
    all.resize(kMostProblems);
    all.push_back({.line = all.back().line, .path = {}, .what = fmt::format("and {} more problems", more)});
  }
  return all;
}

std::string in_quotes(std::string_view text) {
  std::string shown(text.substr(0, kMostShownBytes));
  if (text.size() > kMostShownBytes) {
    // The cut may have split a UTF-8 sequence: drop what is left of it.
    while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0u) == 0x80u) shown.pop_back();
    if (!shown.empty() && static_cast<unsigned char>(shown.back()) >= 0xC0u) shown.pop_back();
    shown += "...";
  }
  for (char& c : shown) {
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = '?';
  }
  return '"' + shown + '"';
}

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names.first(std::min(names.size(), kMostListed))) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  if (names.size() > kMostListed) text += fmt::format(" and {} more", names.size() - kMostListed);
  return text;
}

std::optional<std::string> closest(std::string_view text, std::span<const std::string> candidates) {
  if (text.empty() || text.size() > kLongestCompared) return std::nullopt;
  // A third of the letters may be wrong, three at most: more is another word.
  std::size_t best = std::clamp<std::size_t>(text.size() / 3, 1, 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    const std::size_t distance = edit_distance(text, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string suggestion(std::string_view text, std::span<const std::string> candidates) {
  if (const auto near = closest(text, candidates)) return fmt::format("did you mean {}?", in_quotes(*near));
  if (candidates.empty()) return "none is defined";
  return fmt::format("known: {}", listed(candidates));
}

}  // namespace fareway
