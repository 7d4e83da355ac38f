#include "adapters/stores/ledger_report.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "adapters/stores/ledger_file.hpp"

namespace fareway {
namespace {

/// A line under way. Costs of the priced and of the counted requests are kept apart: subtracting the cost of
/// a request whose price is unknown would take the unknown for zero.
struct Sums {
  ReportLine line;
  NanoUsd priced_cost;
  NanoUsd counted_cost;
};
using SumsByKey = std::map<std::string, Sums>;

struct Span {
  std::int64_t since_ns;
  std::int64_t until_ns;
};

template <class Amount>
Amount add(Amount a, Amount b) {
  Amount sum;
  if (__builtin_add_overflow(a.value, b.value, &sum.value)) throw std::overflow_error("integer overflow");
  return sum;
}

/// The column, or the expression, that a line stands for.
std::string_view key_sql(ReportKey by) {
  switch (by) {
    case ReportKey::kTenant:
      return "tenant";
    case ReportKey::kModel:
      return "model";
    case ReportKey::kClass:
      return "service_class";
    case ReportKey::kPool:
      break;
  }
  return "coalesce((SELECT pool FROM charges WHERE charges.request_id = requests.request_id"
         " ORDER BY attempt DESC LIMIT 1), '(none)')";
}

/// Everything that counts once a request. SQLite's sum() of integers is exact and fails when it overflows.
void sum_requests(Database& database, ReportKey by, Span span, SumsByKey& sums) {
  Statement query(database,
                  "WITH spent AS MATERIALIZED ("
                  "  SELECT " +
                      std::string(key_sql(by)) +
                      " AS line, prompt_tokens, cached_tokens, completion_tokens,"
                      "    price_nanousd, (SELECT coalesce(sum(cost_nanousd), 0) FROM charges"
                      "                    WHERE charges.request_id = requests.request_id) AS cost_nanousd"
                      "  FROM requests WHERE admitted_at_ns >= ?1 AND admitted_at_ns < ?2) "
                      "SELECT line, count(*), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens),"
                      "  sum(cost_nanousd), sum(price_nanousd),"
                      "  count(*) - count(price_nanousd), count(*) - count(prompt_tokens),"
                      "  sum(cost_nanousd) FILTER (WHERE price_nanousd IS NOT NULL),"
                      "  sum(cost_nanousd) FILTER (WHERE prompt_tokens IS NOT NULL) "
                      "FROM spent GROUP BY line");
  query.for_each_row(
      [&](const Statement& row) {
        Sums& entry = sums[row.text(0)];
        entry.line.requests = row.integer(1);
        entry.line.prompt = {row.integer(2)};
        entry.line.cached = {row.integer(3)};
        entry.line.completion = {row.integer(4)};
        entry.line.cost = {row.integer(5)};
        entry.line.price = {row.integer(6)};
        entry.line.unpriced = row.integer(7);
        entry.line.uncounted = row.integer(8);
        entry.priced_cost = {row.integer(9)};
        entry.counted_cost = {row.integer(10)};
      },
      span.since_ns, span.until_ns);
}

/// Puts each attempt's cost, and each replica's idle cost, on the pool where it arose.
void split_by_pool(Database& database, Span span, SumsByKey& sums) {
  for (auto& [pool, entry] : sums) entry.line.cost = {};
  Statement attempts(database,
                     "SELECT pool, sum(cost_nanousd) FROM requests JOIN charges USING (request_id)"
                     " WHERE admitted_at_ns >= ?1 AND admitted_at_ns < ?2 GROUP BY pool");
  attempts.for_each_row([&](const Statement& row) { sums[row.text(0)].line.cost = {row.integer(1)}; },
                        span.since_ns, span.until_ns);
  Statement idle(database,
                 "SELECT pool, sum(idle_nanousd) FROM idle_costs"
                 " WHERE from_ns >= ?1 AND from_ns < ?2 GROUP BY pool");
  idle.for_each_row([&](const Statement& row) { sums[row.text(0)].line.idle = {row.integer(1)}; },
                    span.since_ns, span.until_ns);
}

void add_to(Sums& total, const Sums& part) {
  ReportLine& line = total.line;
  line.requests += part.line.requests;
  line.prompt = add(line.prompt, part.line.prompt);
  line.cached = add(line.cached, part.line.cached);
  line.completion = add(line.completion, part.line.completion);
  line.cost = add(line.cost, part.line.cost);
  line.idle = add(line.idle, part.line.idle);
  line.price = add(line.price, part.line.price);
  line.unpriced += part.line.unpriced;
  line.uncounted += part.line.uncounted;
  total.priced_cost = add(total.priced_cost, part.priced_cost);
  total.counted_cost = add(total.counted_cost, part.counted_cost);
}

/// The line with what follows from its sums.
ReportLine finish(Sums sums) {
  ReportLine& line = sums.line;
  if (line.requests > line.unpriced)
    line.margin = line.price - sums.priced_cost;  // both ≥ 0: cannot overflow
  const double tokens = static_cast<double>(line.prompt.value) + static_cast<double>(line.completion.value);
  if (tokens > 0) line.cost_per_mtok = UsdPerMTok{to_usd(sums.counted_cost).value / tokens * 1e6};
  return std::move(line);
}

Report assemble(const SumsByKey& sums) {
  Report report;
  Sums total;
  for (const auto& [key, entry] : sums) {
    add_to(total, entry);
    report.lines.push_back(finish(entry));
    report.lines.back().key = key;
  }
  report.total = finish(std::move(total));
  report.total.key = "total";
  std::ranges::sort(report.lines, [](const ReportLine& a, const ReportLine& b) {
    return std::tuple(add(b.cost, b.idle), std::string_view(a.key)) <
           std::tuple(add(a.cost, a.idle), std::string_view(b.key));
  });
  return report;
}

}  // namespace

Report ledger_report(const std::filesystem::path& file, ReportKey by, std::optional<WallTime> since,
                     std::optional<WallTime> until) {
  Database database = open_ledger_read_only(file);
  const Span span{.since_ns = since.value_or(WallTime::min()).time_since_epoch().count(),
                  .until_ns = until.value_or(WallTime::max()).time_since_epoch().count()};
  try {
    const Transaction snapshot(database, Transaction::Kind::kRead);
    SumsByKey sums;
    sum_requests(database, by, span, sums);
    if (by == ReportKey::kPool) split_by_pool(database, span, sums);
    return assemble(sums);
  } catch (const std::runtime_error& error) {
    const bool overflow = std::string_view(error.what()) == "integer overflow";
    throw std::runtime_error(
        "ledger " + file.string() + ": " +
        (overflow ? "the amounts add up to more than 9.2 billion dollars (or tokens to more than"
                    " 9.2e18); report a shorter span"
                  : std::string(error.what())));
  }
}

}  // namespace fareway
