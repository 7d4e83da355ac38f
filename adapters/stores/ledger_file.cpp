#include "adapters/stores/ledger_file.hpp"

#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <sqlite3.h>

#include "adapters/stores/schema.hpp"

namespace fareway {
namespace {

using std::chrono_literals::operator""ms;

/// Only an operator's own `sqlite3` session can be in the writer's way; clients are waiting meanwhile.
constexpr auto kWriterPatience = 250ms;
/// Readers wait only while a crashed writer's log is being recovered.
constexpr auto kReaderPatience = 5000ms;

/// 64 MiB: request ids come in no order, so that the default of 2 MiB reads most pages of a large ledger
/// again and again.
constexpr auto kCache = "PRAGMA cache_size = -65536";

std::runtime_error trouble(const std::filesystem::path& file, const std::string& what) {
  return std::runtime_error("ledger " + file.string() + what);
}

std::runtime_error explain(const std::filesystem::path& file, const DatabaseError& error) {
  if (error.primary() == SQLITE_NOTADB) {
    return trouble(file, " is not a SQLite database: name another file, or move this one away");
  }
  return trouble(file, std::string(": ") + error.what());
}

/// One name for one file, whichever way it is spelt: the lock's name depends on it.
std::filesystem::path resolve(const std::filesystem::path& file) {
  if (file.empty()) throw std::runtime_error("the ledger has no file name");
  std::error_code error;
  std::filesystem::path resolved = std::filesystem::weakly_canonical(std::filesystem::absolute(file), error);
  if (error) throw trouble(file, ": " + error.message());
  if (std::filesystem::is_directory(resolved, error))
    throw trouble(resolved, " is a folder: name a file in it");
  const std::filesystem::path folder = resolved.parent_path();
  const std::filesystem::file_status status = std::filesystem::status(folder, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw trouble(resolved, ": there is no folder " + folder.string() + "; make it first");
  }
  if (error) throw trouble(resolved, ": " + folder.string() + ": " + error.message());
  return resolved;
}

/// Readers do not stop the writer, and a commit is on the disk when it returns.
void make_durable(Database& database, const std::filesystem::path& file) {
  std::string mode;
  Statement(database, "PRAGMA journal_mode = WAL").for_each_row([&](const Statement& row) {
    mode = row.text(0);
  });
  if (mode != "wal") {
    throw trouble(file, ": SQLite cannot keep a write-ahead log there (journal mode " + mode +
                            "); the ledger needs a local file system");
  }
  database.execute(kCache);
  database.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
}

}  // namespace

LedgerFile open_ledger(const std::filesystem::path& named) {
  std::filesystem::path file = resolve(named);
  FileLock lock(file);
  try {
    Database database(file, Database::Mode::kReadWrite, kWriterPatience);
    if (!database.writable()) throw trouble(file, " is read-only: fareway must be allowed to write it");
    applied_migrations(database, file, sqlite_migrations());  // refuses a strange file before changing it
    make_durable(database, file);
    const int applied = apply_migrations(database, file, sqlite_migrations());
    return {std::move(file), std::move(lock), std::move(database), applied};
  } catch (const DatabaseError& error) {
    throw explain(file, error);
  }
}

Database open_ledger_read_only(const std::filesystem::path& named) {
  const std::filesystem::path file = resolve(named);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) throw trouble(file, " does not exist");
  try {
    Database database(file, Database::Mode::kReadOnly, kReaderPatience);
    if (applied_migrations(database, file, sqlite_migrations()) < sqlite_migrations().size()) {
      throw trouble(file, " was made by an older fareway: migrate it first");
    }
    database.execute(kCache);
    return database;
  } catch (const DatabaseError& failure) {
    throw explain(file, failure);
  }
}

}  // namespace fareway
