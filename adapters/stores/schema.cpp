#include "adapters/stores/schema.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <openssl/evp.h>

namespace fareway {
namespace {

/// "FWLG" in the header of every ledger, so that another program's database is never taken for one.
constexpr std::int64_t kApplicationId = 0x46574C47;

struct Applied {
  std::int64_t number{};
  std::string name;
  std::string sha256;
};

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL offers no SHA-256");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 0xf];
  }
  return hex;
}

std::int64_t single_integer(Database& database, std::string_view sql) {
  std::int64_t value = 0;
  Statement(database, sql).for_each_row([&](const Statement& row) { value = row.integer(0); });
  return value;
}

std::vector<Applied> read_applied(Database& database, const std::filesystem::path& file) {
  if (single_integer(database, "SELECT count(*) FROM sqlite_schema") == 0) return {};
  if (single_integer(database, "PRAGMA application_id") != kApplicationId) {
    throw std::runtime_error("ledger " + file.string() +
                             " is the database of another program: name another ledger file");
  }
  std::vector<Applied> applied;
  Statement query(database, "SELECT number, name, sha256 FROM schema_migrations ORDER BY number");
  query.for_each_row([&](const Statement& row) {
    applied.push_back({.number = row.integer(0), .name = row.text(1), .sha256 = row.text(2)});
  });
  return applied;
}

void check_same(const Applied& applied, const Migration& known, const std::filesystem::path& file) {
  if (applied.number != known.number) {
    throw std::runtime_error("ledger " + file.string() + " is damaged: migration " + std::string(known.name) +
                             " is missing from its schema_migrations; restore a backup");
  }
  if (applied.sha256 != sha256_hex(known.sql)) {
    throw std::runtime_error(
        "ledger " + file.string() + " has migration " + applied.name +
        " with another text than this fareway's " + std::string(known.name) +
        ": a released migration must not be edited; use the fareway that made this ledger");
  }
}

void apply(Database& database, const Migration& migration) {
  Transaction transaction(database, Transaction::Kind::kWrite);
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.execute(
      "CREATE TABLE IF NOT EXISTS schema_migrations ("
      "  number INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL,"
      "  applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) STRICT");
  database.execute(std::string(migration.sql));
  if (!database.in_transaction()) {
    throw std::logic_error("migration " + std::string(migration.name) + " must not end its transaction");
  }
  Statement(database, "INSERT INTO schema_migrations (number, name, sha256) VALUES (?1, ?2, ?3)")
      .run(migration.number, migration.name, sha256_hex(migration.sql));
  transaction.commit();
}

}  // namespace

std::size_t applied_migrations(Database& database, const std::filesystem::path& file,
                               std::span<const Migration> migrations) {
  const std::vector<Applied> applied = read_applied(database, file);
  if (applied.size() > migrations.size()) {
    throw std::runtime_error("ledger " + file.string() + " was made by a newer fareway: it has migration " +
                             applied.back().name + ", this one knows " + std::to_string(migrations.size()) +
                             " of its " + std::to_string(applied.size()) +
                             "; use that fareway, or restore the copy from before the upgrade");
  }
  for (std::size_t i = 0; i < applied.size(); ++i) check_same(applied[i], migrations[i], file);
  return applied.size();
}

int apply_migrations(Database& database, const std::filesystem::path& file,
                     std::span<const Migration> migrations) {
  const auto missing = migrations.subspan(applied_migrations(database, file, migrations));
  for (const Migration& migration : missing) {
    try {
      apply(database, migration);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("ledger " + file.string() + ": migration " + std::string(migration.name) +
                               " failed and was undone: " + error.what());
    }
  }
  return static_cast<int>(missing.size());
}

}  // namespace fareway
