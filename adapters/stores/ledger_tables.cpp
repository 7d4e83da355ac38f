#include "adapters/stores/ledger_tables.hpp"

#include <nlohmann/json.hpp>
#include <sqlite3.h>

namespace fareway {
namespace {

using nlohmann::ordered_json;

std::string_view to_text(UsageSource source) {
  switch (source) {
    case UsageSource::kEngine:
      return "engine";
    case UsageSource::kCounted:
      return "counted";
    case UsageSource::kUnknown:
      break;
  }
  return "unknown";
}

std::int64_t nanoseconds(WallTime time) {
  return time.time_since_epoch().count();
}

std::optional<std::int64_t> amount(const std::optional<NanoUsd>& money) {
  return money ? std::optional(money->value) : std::nullopt;
}

std::optional<double> count(const std::optional<Seconds>& time) {
  return time ? std::optional(time->count()) : std::nullopt;
}

std::optional<std::int64_t> tokens(const std::optional<TokenUsage>& usage, Tokens TokenUsage::* part) {
  return usage ? std::optional(((*usage).*part).value) : std::nullopt;
}

template <class Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

/// Ids may come from clients: bytes that are no UTF-8 are replaced, never a reason to lose the line.
std::string dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

LedgerTables::LedgerTables(Database& database)
    : savepoint_(database, "SAVEPOINT ledger_row"),
      release_(database, "RELEASE ledger_row"),
      undo_(database, "ROLLBACK TO ledger_row"),
      request_(
          database,
          "INSERT INTO requests (request_id, admitted_at_ns, tenant, key_id, model, service_class, endpoint,"
          " session, outcome, status, usage_source, prompt_tokens, cached_tokens, completion_tokens,"
          " price_nanousd, ttft_seconds, duration_seconds)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"),
      charge_(database,
              "INSERT INTO charges (request_id, attempt, replica, pool, cost_nanousd) VALUES (?1, ?2, ?3, "
              "?4, ?5)"),
      idle_(database,
            "INSERT INTO idle_costs (replica, pool, from_ns, to_ns, idle_nanousd) VALUES (?1, ?2, ?3, ?4, "
            "?5)") {}

void LedgerTables::insert(const LedgerRow& row) {
  request_.run(row.request_id, nanoseconds(row.admitted_at), row.tenant, row.key_id, row.model,
               row.service_class, row.endpoint, row.session, to_string(row.outcome), row.status,
               to_text(row.usage_source), tokens(row.usage, &TokenUsage::prompt),
               tokens(row.usage, &TokenUsage::cached), tokens(row.usage, &TokenUsage::completion),
               amount(row.price), count(row.ttft), row.duration.count());
  std::int64_t attempt = 0;
  for (const Charge& charge : row.charges) {
    charge_.run(row.request_id, ++attempt, charge.replica, charge.pool, charge.cost.value);
  }
}

void LedgerTables::insert(const IdleRow& row) {
  idle_.run(row.replica, row.pool, nanoseconds(row.from), nanoseconds(row.to), row.idle.value);
}

template <class Row>
void LedgerTables::insert_wholly(const Row& row) {
  savepoint_.run();
  try {
    insert(row);
  } catch (const DatabaseError& error) {
    // Any other failure ends the whole transaction, and the savepoint with it.
    if (is_refusal(error)) {
      undo_.run();
      release_.run();
    }
    throw;
  }
  release_.run();
}

template void LedgerTables::insert_wholly(const LedgerRow& row);
template void LedgerTables::insert_wholly(const IdleRow& row);

bool is_refusal(const DatabaseError& error) {
  switch (error.primary()) {
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return true;
    default:
      return false;
  }
}

std::string to_json(const LedgerRow& row) {
  ordered_json charges = ordered_json::array();
  for (const Charge& charge : row.charges) {
    charges.push_back(
        {{"replica", charge.replica}, {"pool", charge.pool}, {"cost_nanousd", charge.cost.value}});
  }
  return dump({{"request_id", row.request_id},
               {"admitted_at_ns", nanoseconds(row.admitted_at)},
               {"tenant", row.tenant},
               {"key_id", row.key_id},
               {"model", row.model},
               {"service_class", row.service_class},
               {"endpoint", row.endpoint},
               {"session", row.session},
               {"outcome", to_string(row.outcome)},
               {"status", row.status},
               {"usage_source", to_text(row.usage_source)},
               {"prompt_tokens", or_null(tokens(row.usage, &TokenUsage::prompt))},
               {"cached_tokens", or_null(tokens(row.usage, &TokenUsage::cached))},
               {"completion_tokens", or_null(tokens(row.usage, &TokenUsage::completion))},
               {"price_nanousd", or_null(amount(row.price))},
               {"ttft_seconds", or_null(count(row.ttft))},
               {"duration_seconds", row.duration.count()},
               {"charges", std::move(charges)}});
}

std::string to_json(const IdleRow& row) {
  return dump({{"replica", row.replica},
               {"pool", row.pool},
               {"from_ns", nanoseconds(row.from)},
               {"to_ns", nanoseconds(row.to)},
               {"idle_nanousd", row.idle.value}});
}

}  // namespace fareway
