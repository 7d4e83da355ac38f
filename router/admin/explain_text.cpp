#include "router/admin/explain_text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "router/admin/explain.hpp"
#include "router/admin/figures.hpp"

namespace fareway {
namespace {

constexpr std::size_t kWidth = 100;

/// The text with line ends in place of blanks, so that no line is longer than it must be.
std::string wrapped(const std::string& text) {
  std::string lines;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, blank - at);
    const bool fits = column == 0 || column + 1 + word.size() <= kWidth;
    if (!lines.empty()) lines += fits ? ' ' : '\n';
    column = fits && column > 0 ? column + 1 + word.size() : word.size();
    lines += word;
    at = blank + 1;
  }
  return lines + '\n';
}

std::string asked(const DecisionRecord& record, const Fleet& fleet) {
  const RequestShape& shape = record.shape;
  return fmt::format("{} asked for {} in class {}: about {} tokens of prompt, {} of answer expected.",
                     record.tenant, fleet[shape.model].name, fleet[shape.service_class].name,
                     with_commas(shape.prompt.value), with_commas(shape.expected_output.value));
}

/// "; the targets were met", "; 0.8 s late, which its class counts as $0.02", or nothing where that is not
/// known.
std::string judged(const DecisionRecord& record, const Fleet& fleet) {
  const auto late = lateness_of(record, fleet);
  if (!late) return {};
  if (*late <= Seconds{0}) return "; its class's targets were met";
  const Usd worth = fleet[record.shape.service_class].miss_dollars(*late);
  return fmt::format("; {} late, a miss worth {} to its class", span_of(*late), dollars(worth.value));
}

/// " It waited 1.2 s first: placed when it came it would have cost $0.03 in misses.", or nothing.
std::string queued(const DecisionRecord& record) {
  if (!record.queue) return {};
  const QueueRecord& queue = *record.queue;
  std::string why = queue.for_cheaper_hour
                        ? "for a cheaper hour"
                        : fmt::format("because placing it when it came would have cost {} in misses",
                                      dollars(queue.misses_at_first.value));
  std::string text = queue.waited > Seconds{0} ? fmt::format(" It waited {} {}", span_of(queue.waited), why)
                                               : fmt::format(" It had to wait {}", why);
  if (queue.turned_away) text += fmt::format(", and was turned away ({})", to_string(*queue.turned_away));
  return text + ".";
}

std::string outcome(const DecisionRecord& record, const Fleet& fleet) {
  if (record.attempts.empty() || !record.outcome) return {};
  std::string text = fmt::format(" It ended as {}", to_string(*record.outcome));
  if (record.ttft) {
    const Candidate* chosen = record.attempts.back().chosen_candidate();
    text += fmt::format(": first token after {}", span_of(*record.ttft));
    if (chosen != nullptr) text += fmt::format(" ({} predicted)", span_of(chosen->prediction.ttft));
  }
  if (record.usage) {
    text += fmt::format(", {} tokens of prompt of which {} cached, {} of answer",
                        with_commas(record.usage->prompt.value), with_commas(record.usage->cached.value),
                        with_commas(record.usage->completion.value));
  }
  text += judged(record, fleet);
  text += fmt::format(". Cost {}", dollars(to_usd(record.cost).value));
  if (record.price) text += fmt::format(", price {}", dollars(to_usd(*record.price).value));
  return text + ".";
}

using Row = std::vector<std::string>;

Row heading() {
  return {"",           "replica", "pool", "dollars", "GPU",    "own miss", "others' miss",
          "preference", "TTFT",    "TPOT", "miss",    "cached", "load age"};
}

Row row_of(const Candidate& candidate, const Decision& decision, const Fleet& fleet) {
  const Replica& replica = fleet[candidate.replica];
  Row row{decision.chosen == candidate.replica ? ">" : "", replica.name, fleet[replica.pool].name};
  if (!candidate.excluded_by.empty()) {
    row.push_back(exclusion_of(candidate));
    return row;
  }
  const Score& score = candidate.score;
  for (const Usd term : {score.total(), score.gpu, score.own_miss, score.others_miss, score.preference})
    row.push_back(dollars(term.value));
  row.push_back(span_of(candidate.prediction.ttft));
  row.push_back(span_of(candidate.prediction.tpot));
  row.push_back(percent(candidate.prediction.miss_probability));
  row.push_back(with_commas(candidate.cached.value));
  row.push_back(candidate.reading_age ? span_of(*candidate.reading_age) : "never read");
  return row;
}

/// Columns as wide as their widest cell; names to the left, figures to the right. A row that stops early (an
/// excluded candidate) does not widen the columns it does not have, nor does its last cell.
std::string table(const std::vector<Row>& rows) {
  constexpr std::size_t kNames = 3;
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    const std::size_t counted = row.size() == widths.size() ? row.size() : row.size() - 1;
    for (std::size_t i = 0; i < counted; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool whole = row.size() == widths.size();
      if (i > 0) line += i == 1 ? " " : "  ";
      if (i < kNames) {
        line += fmt::format("{:<{}}", row[i], widths[i]);
      } else if (whole) {
        line += fmt::format("{:>{}}", row[i], widths[i]);
      } else {
        line += row[i];
      }
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string attempt_text(const DecisionRecord& record, std::size_t position, const Fleet& fleet) {
  const Decision& decision = record.attempts[position];
  std::string text;
  if (record.attempts.size() > 1) text += fmt::format("\nAttempt {}\n", position + 1);
  if (decision.candidates.empty()) return text;
  std::vector<Row> rows{heading()};
  for (const Candidate& candidate : decision.candidates) rows.push_back(row_of(candidate, decision, fleet));
  // Cheapest first, then the excluded, each as the fleet lists them.
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < decision.candidates.size(); ++i) {
    const Candidate& candidate = decision.candidates[i];
    order.emplace_back(candidate.excluded_by.empty() ? candidate.score.total().value : 1e300, i + 1);
  }
  std::ranges::sort(order);
  std::vector<Row> sorted{rows.front()};
  for (const auto& [total, row] : order) sorted.push_back(std::move(rows[row]));
  return text + "\n" + table(sorted);
}

}  // namespace

std::string explain_text(const DecisionRecord& record, const Fleet& fleet) {
  std::string paragraph = asked(record, fleet);
  if (record.attempts.size() > 1)
    paragraph += fmt::format(" It took {} attempts; the last one:", record.attempts.size());
  if (!record.attempts.empty()) paragraph += ' ' + explain(record.shape, record.attempts.back(), fleet) + '.';
  paragraph += queued(record);
  paragraph += outcome(record, fleet);
  std::string text = record.request_id.empty() ? "" : record.request_id + '\n';
  text += wrapped(paragraph);
  for (std::size_t i = 0; i < record.attempts.size(); ++i) text += attempt_text(record, i, fleet);
  return text;
}

}  // namespace fareway
