#pragma once

#include <filesystem>

#include "adapters/stores/database.hpp"
#include "adapters/stores/file_lock.hpp"

namespace fareway {

/// A ledger open for writing: nobody else writes, the schema is up to date, commits survive a power cut.
struct LedgerFile {
  std::filesystem::path path;  ///< absolute, links resolved
  FileLock lock;
  Database database;
  int applied;  ///< migrations that opening applied
};

/// Throws std::runtime_error with one clear line that names the file.
LedgerFile open_ledger(const std::filesystem::path& file);

/// A connection that can only read, beside a writer or without one. Throws as above, also where the ledger
/// does not exist, or is older than this program and so has to be opened by `open_ledger` first.
Database open_ledger_read_only(const std::filesystem::path& file);

}  // namespace fareway
