// The ledger on a store that fails: a full disk, a file that may not grow, another writer in the way.

#include <atomic>
#include <cerrno>
#include <signal.h>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include "adapters/stores/ledger_tables.hpp"
#include "tests/unit/adapters/stores/ledger_support.hpp"

namespace fareway::stores_test {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// While it lives, no file of this process may grow beyond `bytes`: writes fail with EFBIG.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uintmax_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  sighandler_t handler_;
  rlimit before_{};
};

std::atomic<int> disk_error{0};
std::atomic<int> failed_writes{0};
ssize_t (*real_write)(int, const void*, size_t, off64_t) = nullptr;

ssize_t faulty_write(int descriptor, const void* bytes, size_t size, off64_t offset) {
  if (const int error = disk_error; error != 0) {
    ++failed_writes;
    errno = error;
    return -1;
  }
  return real_write(descriptor, bytes, size, offset);
}

/// SQLite's own seam for tests: its write calls, which fail with an errno of our choice. Install before
/// opening.
class FaultyDisk {
 public:
  FaultyDisk() : vfs_(sqlite3_vfs_find(nullptr)) {
    real_write = reinterpret_cast<decltype(real_write)>(vfs_->xGetSystemCall(vfs_, "pwrite64"));
    vfs_->xSetSystemCall(vfs_, "pwrite64", reinterpret_cast<sqlite3_syscall_ptr>(&faulty_write));
  }
  ~FaultyDisk() {
    disk_error = 0;
    vfs_->xSetSystemCall(vfs_, "pwrite64", nullptr);
  }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  void fail_with(int error) { disk_error = error; }
  void work() { disk_error = 0; }
  int failures() const { return failed_writes; }

 private:
  sqlite3_vfs* vfs_;
};

/// The writer tries again every second; half a minute is for slow machines.
bool becomes_empty(const SqliteLedger& ledger) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (ledger.backlog() != 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TEST(LedgerFaults, FileThatMayNotGrowLosesNothing) {
  const TemporaryFolder folder;
  const auto file = folder / "a.db";
  SqliteLedger ledger(file);
  ASSERT_EQ(append_and_wait(ledger, Request("before")), Commit::kDurable);
  {
    const FileSizeLimit limit(std::filesystem::file_size(file.string() + "-wal"));
    EXPECT_EQ(append_and_wait(ledger, Request("during 1")), Commit::kDeferred);
    EXPECT_EQ(append_and_wait(ledger, Request("during 2")), Commit::kDeferred);
    EXPECT_THAT(ledger.trouble(), HasSubstr("a.db: disk I/O error (SQLite code 778)"));
    EXPECT_EQ(ledger.backlog(), 2U);
    EXPECT_THAT(request_ids(file), ElementsAre("before"));
  }
  ASSERT_TRUE(becomes_empty(ledger));
  EXPECT_EQ(ledger.trouble(), "");
  EXPECT_EQ(append_and_wait(ledger, Request("after")), Commit::kDurable);
  EXPECT_THAT(request_ids(file), ElementsAre("before", "during 1", "during 2", "after"));
}

class FullDisk : public testing::TestWithParam<int> {};

TEST_P(FullDisk, LosesNothingWhenSpaceReturns) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  Receipts receipts;
  std::vector<std::string> expected;
  {
    SqliteLedger ledger(folder / "a.db");
    disk.fail_with(GetParam());
    for (int i = 0; i < 500; ++i) {
      expected.push_back(std::to_string(i));
      ledger.append(Request(expected.back()).ran("a/0", "a", 1), receipts.of("deferred"));
      ledger.append(IdleRow{"a/0", "a", at(i), at(i + 1), NanoUsd{1}});
    }
    EXPECT_THAT(receipts.wait_for(500), testing::Each(FieldsAre("deferred", Commit::kDeferred)));
    EXPECT_THAT(ledger.trouble(), Not(IsEmpty()));
    EXPECT_EQ(ledger.backlog(), 1'000U);
    disk.work();
    ASSERT_TRUE(becomes_empty(ledger));
    EXPECT_EQ(ledger.trouble(), "");
    EXPECT_EQ(ledger.refused(), 0U);
  }
  EXPECT_THAT(receipts.wait_for(500), SizeIs(500)) << "an owner heard twice";
  EXPECT_EQ(request_ids(folder / "a.db"), expected);
  EXPECT_THAT(column(folder / "a.db", "SELECT sum(cost_nanousd) FROM charges"), ElementsAre("500"));
  EXPECT_THAT(column(folder / "a.db", "SELECT sum(idle_nanousd) FROM idle_costs"), ElementsAre("500"));
}

INSTANTIATE_TEST_SUITE_P(Errors, FullDisk, testing::Values(ENOSPC, EIO, EDQUOT),
                         [](const auto& error) { return "errno" + std::to_string(error.param); });

TEST(LedgerFaults, DiskThatFillsUpInTheMiddleOfARowIsNoRefusal) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  SqliteLedger ledger(folder / "a.db");
  LedgerRow large = Request("r2");
  large.session.assign(std::size_t{96} << 20,
                       'x');  // more than SQLite's cache: pages are written before the commit
  disk.fail_with(ENOSPC);
  ASSERT_EQ(append_and_wait(ledger, Request("r1")), Commit::kDeferred);
  EXPECT_EQ(append_and_wait(ledger, large), Commit::kDeferred);
  ASSERT_EQ(append_and_wait(ledger, Request("r3")), Commit::kDeferred);
  const int before = disk.failures();
  while (disk.failures() == before)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // tried all three
  disk.work();
  ASSERT_TRUE(becomes_empty(ledger));
  EXPECT_EQ(ledger.refused(), 0U);
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1", "r2", "r3"));
}

TEST(LedgerFaults, OnlyWhatTryingAgainCannotCureIsARefusal) {
  for (const int code :
       {SQLITE_CONSTRAINT_CHECK, SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_TOOBIG, SQLITE_MISMATCH}) {
    EXPECT_TRUE(is_refusal(DatabaseError(code, ""))) << code;
  }
  for (const int code :
       {SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_BUSY, SQLITE_BUSY_SNAPSHOT,
        SQLITE_READONLY_DBMOVED, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_CORRUPT, SQLITE_ERROR}) {
    EXPECT_FALSE(is_refusal(DatabaseError(code, ""))) << code;
  }
}

TEST(LedgerFaults, FailingStoreIsTriedAgainOnlyAfterAWhile) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  SqliteLedger ledger(folder / "a.db");
  disk.fail_with(ENOSPC);
  const int before = disk.failures();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(append_and_wait(ledger, Request(std::to_string(i))), Commit::kDeferred);
  }
  const auto seconds = std::chrono::steady_clock::now() - start;
  // One failing write a try; a try at first and one for each second since.
  EXPECT_LE(disk.failures() - before, 2 + seconds / std::chrono::seconds(1));
  disk.work();
}

TEST(LedgerFaults, ClosingWritesWhatWaitedWhenSpaceIsBack) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  {
    SqliteLedger ledger(folder / "a.db");
    disk.fail_with(ENOSPC);
    EXPECT_EQ(append_and_wait(ledger, Request("r1")), Commit::kDeferred);
    disk.work();
  }
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1"));
}

TEST(LedgerFaults, RowsThatCannotBeWrittenAtTheEndGoToStderr) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  testing::internal::CaptureStderr();
  {
    SqliteLedger ledger(folder / "a.db");
    disk.fail_with(ENOSPC);
    EXPECT_EQ(append_and_wait(ledger, Request("r1").ran("a/0", "a", 5)), Commit::kDeferred);
    ledger.append(IdleRow{"a/0", "a", at(10), at(20), NanoUsd{77}});
  }
  std::istringstream captured(testing::internal::GetCapturedStderr());
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(captured, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("event"), "ledger_row_unwritten");
  EXPECT_THAT(lines[0].at("reason").get<std::string>(), HasSubstr("database or disk is full"));
  EXPECT_EQ(lines[0].at("row").at("charges").at(0).at("cost_nanousd"), 5);
  EXPECT_EQ(lines[1].at("row").at("idle_nanousd"), 77);
}

TEST(LedgerFaults, RefusedRowIsReportedOnceEvenIfItsGroupIsTriedAgain) {
  const TemporaryFolder folder;
  FaultyDisk disk;
  testing::internal::CaptureStderr();
  {
    SqliteLedger ledger(folder / "a.db");
    ASSERT_EQ(append_and_wait(ledger, Request("r1")), Commit::kDurable);
    disk.fail_with(ENOSPC);
    ASSERT_EQ(append_and_wait(ledger, Request("r2")), Commit::kDeferred);
    ASSERT_EQ(append_and_wait(ledger, Request("r1")), Commit::kDeferred);
    disk.work();
    ASSERT_TRUE(becomes_empty(ledger));
    EXPECT_EQ(ledger.refused(), 1U);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(nlohmann::json::parse(text).at("event"), "ledger_row_refused");
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1", "r2"));
}

TEST(LedgerFaults, AnotherWriterInTheWayIsWaitedOut) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  Database other(folder / "a.db", Database::Mode::kReadWrite, std::chrono::seconds(5));
  {
    const Transaction in_the_way(other, Transaction::Kind::kWrite);
    EXPECT_EQ(append_and_wait(ledger, Request("r1")), Commit::kDeferred);
    EXPECT_THAT(ledger.trouble(), HasSubstr("database is locked"));
  }
  ASSERT_TRUE(becomes_empty(ledger));
  EXPECT_EQ(ledger.trouble(), "");
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1"));
}

TEST(LedgerFaults, LedgerMovedAwayWhileInUseIsNoticed) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  std::filesystem::rename(folder / "a.db", folder / "elsewhere.db");
  EXPECT_EQ(append_and_wait(ledger, Request("r1")), Commit::kDeferred);
  EXPECT_THAT(ledger.trouble(), HasSubstr("was moved or removed while in use"));
  std::filesystem::rename(folder / "elsewhere.db", folder / "a.db");
  ASSERT_TRUE(becomes_empty(ledger));
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1"));
}

}  // namespace
}  // namespace fareway::stores_test
