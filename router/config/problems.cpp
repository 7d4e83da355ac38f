#include "router/config/problems.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "placement/catalogue/nearest_name.hpp"

namespace fareway {
namespace {

constexpr std::size_t kMostProblems = 100;
constexpr std::size_t kMostShownBytes = 60;
constexpr std::size_t kMostListed = 12;

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

std::string suggestion(std::string_view text, std::span<const std::string> candidates) {
  if (const auto near = closest(text, candidates)) return fmt::format("did you mean {}?", in_quotes(*near));
  if (candidates.empty()) return "none is defined";
  return fmt::format("known: {}", listed(candidates));
}

}  // namespace fareway
