#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "pricing/ledger_row.hpp"

namespace fareway {

/// The durable record of requests and dollars, in one SQLite file.
///
/// One writer thread owns the connection and commits in groups: rows that arrive while a commit is under way
/// share the next one, and under load commits begin two milliseconds apart, or as soon as 64 rows wait. WAL,
/// synchronous=FULL: a committed row survives a power cut. Opening applies the migrations that are missing; a
/// lock file keeps a second process out. Readers (`ledger_report`) need neither.
///
/// When the disk is full or the file fails, rows wait in memory and are tried again every second; nothing is
/// dropped while the process lives. `backlog()` counts them, so that admission can stop before there are too
/// many. A row that the schema refuses holds up nobody: it goes to stderr as a JSON line and into
/// `refused()`.
class SqliteLedger {
 public:
  enum class Commit {
    kDurable,
    kDeferred,  ///< the store failed; the row waits in memory and is written when the store is back
    kRefused,   ///< the schema does not take the row (a second one with its id, say); it is on stderr instead
  };
  /// Runs on the writer thread, exactly once and in the order of `append`; must be quick (post to your loop)
  /// and must not throw.
  using Done = std::function<void(Commit)>;

  /// Throws std::runtime_error with one clear line: cannot open, locked by another process (with its pid),
  /// made by a newer version, not a database, migration failed.
  explicit SqliteLedger(const std::filesystem::path& file);
  /// Commits what waits. Rows that still cannot be written go to stderr as JSON lines, so that nothing
  /// vanishes.
  ~SqliteLedger();
  SqliteLedger(const SqliteLedger&) = delete;
  SqliteLedger& operator=(const SqliteLedger&) = delete;

  /// Any thread. Rows are written in the order of the calls.
  void append(LedgerRow row, Done done);
  void append(IdleRow row);

  /// Rows accepted and not yet durable. Any thread.
  std::size_t backlog() const;
  /// What last failed, empty while the store works. Any thread.
  std::string trouble() const;
  /// Rows that the schema refused since the start. Any thread.
  std::uint64_t refused() const;

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

/// Applies the numbered migrations that `file` lacks, each in its own transaction; 0 where it was up to date.
/// Throws as the constructor above does.
int migrate(const std::filesystem::path& file);

}  // namespace fareway
