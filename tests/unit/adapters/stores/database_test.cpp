#include "adapters/stores/database.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <sqlite3.h>

#include "tests/unit/adapters/stores/ledger_support.hpp"

namespace fareway::stores_test {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  std::int64_t count() {
    std::int64_t rows = -1;
    Statement(database_, "SELECT count(*) FROM t").for_each_row([&](const Statement& row) {
      rows = row.integer(0);
    });
    return rows;
  }

  TemporaryFolder folder_;
  Database database_{folder_ / "a.db", Database::Mode::kReadWrite, std::chrono::milliseconds(0)};
};

TEST_F(DatabaseTest, BindsAndReadsEveryKindOfValueExactly) {
  database_.execute("CREATE TABLE t (i INTEGER, r REAL, s TEXT, n INTEGER) STRICT");
  Statement insert(database_, "INSERT INTO t VALUES (?1, ?2, ?3, ?4)");
  const std::string with_zero_byte("a\0b", 3);
  insert.run(std::numeric_limits<std::int64_t>::min(), 0.1, with_zero_byte, std::optional<std::int64_t>());
  Statement query(database_, "SELECT i, r, s, n FROM t");
  int rows = 0;
  query.for_each_row([&](const Statement& row) {
    ++rows;
    EXPECT_EQ(row.integer(0), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(row.real(1), 0.1);
    EXPECT_EQ(row.text(2), with_zero_byte);
    EXPECT_TRUE(row.is_null(3));
  });
  EXPECT_EQ(rows, 1);
}

TEST_F(DatabaseTest, EmptyTextIsTextAndNotNull) {
  database_.execute("CREATE TABLE t (s TEXT NOT NULL) STRICT");
  Statement(database_, "INSERT INTO t VALUES (?1)").run(std::string_view());
  EXPECT_EQ(count(), 1);
}

TEST_F(DatabaseTest, StatementIsUsableAgainAfterAnError) {
  database_.execute("CREATE TABLE t (i INTEGER PRIMARY KEY) STRICT");
  Statement insert(database_, "INSERT INTO t VALUES (?1)");
  insert.run(1);
  try {
    insert.run(1);
    FAIL() << "a doubled key went in";
  } catch (const DatabaseError& error) {
    EXPECT_EQ(error.primary(), SQLITE_CONSTRAINT);
    EXPECT_EQ(error.code(), SQLITE_CONSTRAINT_PRIMARYKEY);
    EXPECT_STREQ(error.what(), "UNIQUE constraint failed: t.i");
  }
  insert.run(2);
  EXPECT_EQ(count(), 2);
}

TEST_F(DatabaseTest, TransactionIsUndoneUnlessCommitted) {
  database_.execute("CREATE TABLE t (i INTEGER) STRICT");
  {
    const Transaction transaction(database_, Transaction::Kind::kWrite);
    database_.execute("INSERT INTO t VALUES (1)");
  }
  EXPECT_EQ(count(), 0);
  {
    Transaction transaction(database_, Transaction::Kind::kWrite);
    database_.execute("INSERT INTO t VALUES (1)");
    transaction.commit();
  }
  EXPECT_EQ(count(), 1);
  EXPECT_FALSE(database_.in_transaction());
}

TEST_F(DatabaseTest, ReadOnlyConnectionCannotWriteAndMakesNoFile) {
  database_.execute("CREATE TABLE t (i INTEGER) STRICT");
  Database reader = open_reader(folder_ / "a.db");
  EXPECT_FALSE(reader.writable());
  EXPECT_THROW(reader.execute("INSERT INTO t VALUES (1)"), DatabaseError);
  EXPECT_THROW(open_reader(folder_ / "other.db"), DatabaseError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other.db"));
}

}  // namespace
}  // namespace fareway::stores_test
