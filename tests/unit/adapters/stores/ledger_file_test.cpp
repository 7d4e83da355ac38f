#include "adapters/stores/ledger_file.hpp"

#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "migrations/embedded.hpp"
#include "tests/unit/adapters/stores/child_process.hpp"
#include "tests/unit/adapters/stores/ledger_support.hpp"

namespace fareway::stores_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr uid_t kNobody = 65534;

std::string opening_error(const std::filesystem::path& file) {
  return error_of([&] { const SqliteLedger ledger(file); });
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What opening says to a user without special rights: root may write anywhere.
std::string opening_error_unprivileged(const std::filesystem::path& file) {
  const ChildProcess child([&](const auto& say) {
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) say("cannot give up root's rights");
    say(opening_error(file));
  });
  return child.hear();
}

TEST(LedgerFile, MigrateSaysHowMuchThereWasToDo) {
  const TemporaryFolder folder;
  EXPECT_EQ(migrate(folder / "a.db"), static_cast<int>(sqlite_migrations().size()));
  EXPECT_EQ(migrate(folder / "a.db"), 0);
}

TEST(LedgerFile, SecondOpenerInTheSameProcessIsTurnedAway) {
  const TemporaryFolder folder;
  const SqliteLedger first(folder / "a.db");
  const std::string error = opening_error(folder / "a.db");
  EXPECT_THAT(error, HasSubstr("ledger " + (folder / "a.db").string() + " is in use by process " +
                               std::to_string(::getpid()) + " (another fareway?)"));
  EXPECT_EQ(error_of([&] { migrate(folder / "a.db"); }), error);
}

TEST(LedgerFile, LinkToTheLedgerSharesItsLock) {
  const TemporaryFolder folder;
  const SqliteLedger first(folder / "a.db");
  std::filesystem::create_symlink(folder / "a.db", folder / "b.db");
  EXPECT_THAT(opening_error(folder / "b.db"), HasSubstr("is in use by process"));
}

TEST(LedgerFile, OtherProcessHoldsTheLockUntilItDies) {
  const TemporaryFolder folder;
  ChildProcess other([&](const auto& say) {
    const SqliteLedger ledger(folder / "a.db");
    say("open");
  });
  ASSERT_EQ(other.hear(), "open");
  EXPECT_THAT(opening_error(folder / "a.db"),
              HasSubstr("in use by process " + std::to_string(other.pid()) + " "));
  other.kill();
  EXPECT_EQ(opening_error(folder / "a.db"), "");
}

TEST(LedgerFile, LockIsFreeAgainAfterClosingAndAfterAFailedOpening) {
  const TemporaryFolder folder;
  {
    const SqliteLedger ledger(folder / "a.db");
  }
  EXPECT_EQ(opening_error(folder / "a.db"), "");
  write_text(folder / "b.db", "no database");
  EXPECT_THAT(opening_error(folder / "b.db"), Not(IsEmpty()));
  std::filesystem::remove(folder / "b.db");
  EXPECT_EQ(opening_error(folder / "b.db"), "");
}

TEST(LedgerFile, FileThatIsNoDatabaseIsRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  const std::string text =
      "fleet:\n  - this is somebody's configuration, long enough to fill a database header ....\n";
  write_text(folder / "fleet.yaml", text);
  EXPECT_THAT(
      opening_error(folder / "fleet.yaml"),
      AllOf(StartsWith("ledger " + (folder / "fleet.yaml").string()), HasSubstr("is not a SQLite database")));
  EXPECT_EQ(read_text(folder / "fleet.yaml"), text);
}

TEST(LedgerFile, NewerLedgerIsRefused) {
  const TemporaryFolder folder;
  migrate(folder / "a.db");
  tamper(folder / "a.db",
         "INSERT INTO schema_migrations (number, name, sha256) VALUES (9999, '9999_later', '')");
  EXPECT_THAT(opening_error(folder / "a.db"),
              HasSubstr("was made by a newer fareway: it has migration 9999_later"));
  EXPECT_THAT(error_of([&] { open_ledger_read_only(folder / "a.db"); }), HasSubstr("newer fareway"));
}

TEST(LedgerFile, FolderThatMayNotBeWrittenIsNamed) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "data");
  ::chmod((folder / "data").c_str(), 0555);
  ::chmod(folder.path().c_str(), 0755);
  EXPECT_THAT(opening_error_unprivileged(folder / "data/a.db"),
              AllOf(HasSubstr("cannot open its lock file " + (folder / "data/a.db.lock").string()),
                    HasSubstr("Permission denied; fareway must be allowed to write in that folder")));
  ::chmod((folder / "data").c_str(), 0755);
}

TEST(LedgerFile, LedgerThatMayNotBeWrittenIsNamed) {
  const TemporaryFolder folder;
  migrate(folder / "a.db");
  std::filesystem::remove(folder / "a.db.lock");
  ::chmod((folder / "a.db").c_str(), 0444);
  ::chmod(folder.path().c_str(), 0777);
  EXPECT_THAT(opening_error_unprivileged(folder / "a.db"), HasSubstr("a.db is read-only"));
}

TEST(LedgerFile, FolderThatMayNotBeEnteredIsNamed) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "data");
  ::chmod((folder / "data").c_str(), 0000);
  ::chmod(folder.path().c_str(), 0755);
  EXPECT_THAT(opening_error_unprivileged(folder / "data/a.db"), HasSubstr("Permission denied"));
  ::chmod((folder / "data").c_str(), 0755);
}

TEST(LedgerFile, PathsThatCannotBeALedgerSaySo) {
  const TemporaryFolder folder;
  EXPECT_THAT(opening_error(folder / "missing/a.db"),
              HasSubstr("there is no folder " + (folder / "missing").string()));
  EXPECT_THAT(opening_error(folder.path()), HasSubstr("is a folder"));
  EXPECT_THAT(opening_error({}), HasSubstr("has no file name"));
}

TEST(LedgerFile, ReaderWantsALedgerThatExistsAndIsUpToDate) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { open_ledger_read_only(folder / "a.db"); }), HasSubstr("a.db does not exist"));
  write_text(folder / "empty.db", "");
  EXPECT_THAT(error_of([&] { open_ledger_read_only(folder / "empty.db"); }), HasSubstr("migrate it first"));
}

}  // namespace
}  // namespace fareway::stores_test
