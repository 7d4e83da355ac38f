#include "adapters/stores/schema.hpp"

#include <gmock/gmock.h>

#include "tests/unit/adapters/stores/ledger_support.hpp"

namespace fareway::stores_test {
namespace {

using testing::HasSubstr;

constexpr auto kPatience = std::chrono::milliseconds(0);

class SchemaTest : public testing::Test {
 protected:
  int apply(const std::string& name, std::span<const Migration> migrations) {
    Database database(folder_ / name, Database::Mode::kReadWrite, kPatience);
    return apply_migrations(database, folder_ / name, migrations);
  }
  /// Everything the database defines, in an order that does not depend on when.
  std::vector<std::string> schema(const std::string& name) const {
    return column(folder_ / name,
                  "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1");
  }
  std::vector<std::string> applied(const std::string& name) const {
    return column(folder_ / name, "SELECT number || ' ' || name FROM schema_migrations ORDER BY number");
  }
  /// The real ones and then `extra`, numbered on.
  static std::vector<Migration> and_then(std::string_view name, std::string_view sql) {
    std::vector<Migration> all(sqlite_migrations().begin(), sqlite_migrations().end());
    all.push_back({.number = static_cast<int>(all.size()) + 1, .name = name, .sql = sql});
    return all;
  }

  TemporaryFolder folder_;
};

TEST_F(SchemaTest, EmbeddedMigrationsAreNumberedFromOneWithoutAGap) {
  int number = 0;
  for (const Migration& migration : sqlite_migrations()) {
    EXPECT_EQ(migration.number, ++number);
    EXPECT_FALSE(migration.sql.empty());
  }
  ASSERT_GE(number, 1);
  EXPECT_EQ(sqlite_migrations()[0].name, "0001_ledger");
  EXPECT_THAT(std::string(sqlite_migrations()[0].sql), HasSubstr("CREATE TABLE requests ("));
}

TEST_F(SchemaTest, EveryOlderVersionBecomesTheNewest) {
  // One more than there are, so that there is an older version to start from however few they be.
  const std::vector<Migration> all = and_then("9999_next", "ALTER TABLE requests ADD COLUMN region TEXT;");
  ASSERT_EQ(apply("fresh.db", all), static_cast<int>(all.size()));
  for (std::size_t version = 0; version <= all.size(); ++version) {
    const std::string name = "from" + std::to_string(version) + ".db";
    EXPECT_EQ(apply(name, std::span(all).first(version)), static_cast<int>(version));
    EXPECT_EQ(apply(name, all), static_cast<int>(all.size() - version)) << "from version " << version;
    EXPECT_EQ(schema(name), schema("fresh.db")) << "from version " << version;
    EXPECT_EQ(applied(name), applied("fresh.db"));
    EXPECT_EQ(apply(name, all), 0) << "a second time";
  }
}

TEST_F(SchemaTest, FailedMigrationLeavesTheVersionBeforeIt) {
  const auto all = and_then("0099_broken", "CREATE TABLE half (i INTEGER); INSERT INTO nowhere VALUES (1);");
  const std::string error = error_of([&] { apply("a.db", all); });
  EXPECT_THAT(error, HasSubstr((folder_ / "a.db").string()));
  EXPECT_THAT(error, HasSubstr("migration 0099_broken failed and was undone: no such table: nowhere"));
  EXPECT_EQ(applied("a.db").size(), sqlite_migrations().size());
  apply("whole.db", sqlite_migrations());
  EXPECT_EQ(schema("a.db"), schema("whole.db"));
}

TEST_F(SchemaTest, MigrationMustNotEndItsTransaction) {
  const auto all = and_then("0099_commits", "CREATE TABLE half (i INTEGER); COMMIT;");
  EXPECT_THAT(error_of([&] { apply("a.db", all); }), HasSubstr("0099_commits must not end its transaction"));
}

TEST_F(SchemaTest, EditedMigrationIsNoticed) {
  apply("a.db", sqlite_migrations());
  std::vector<Migration> edited(sqlite_migrations().begin(), sqlite_migrations().end());
  const std::string text = std::string(edited[0].sql) + "-- an afterthought";
  edited[0].sql = text;
  EXPECT_THAT(error_of([&] { apply("a.db", edited); }),
              HasSubstr("has migration 0001_ledger with another text"));
}

TEST_F(SchemaTest, NewerLedgerIsRefusedAndLeftAlone) {
  const auto all = and_then("0099_from_the_future", "CREATE TABLE later (i INTEGER) STRICT;");
  apply("a.db", all);
  const auto before = schema("a.db");
  const std::string error = error_of([&] { apply("a.db", sqlite_migrations()); });
  EXPECT_THAT(error, HasSubstr("was made by a newer fareway"));
  EXPECT_THAT(error, HasSubstr("0099_from_the_future"));
  EXPECT_EQ(schema("a.db"), before);
}

TEST_F(SchemaTest, MissingNumberIsDamage) {
  const auto all = and_then("0099_more", "CREATE TABLE more (i INTEGER) STRICT;");
  apply("a.db", all);
  tamper(folder_ / "a.db", "DELETE FROM schema_migrations WHERE number = 1");
  EXPECT_THAT(error_of([&] { apply("a.db", all); }),
              HasSubstr("is damaged: migration 0001_ledger is missing"));
}

TEST_F(SchemaTest, DatabaseOfAnotherProgramIsRefusedAndLeftAlone) {
  tamper(folder_ / "a.db", "CREATE TABLE schema_migrations (version TEXT); CREATE TABLE users (name TEXT)");
  const auto before = schema("a.db");
  EXPECT_THAT(error_of([&] { apply("a.db", sqlite_migrations()); }),
              HasSubstr("is the database of another program"));
  EXPECT_EQ(schema("a.db"), before);
}

TEST_F(SchemaTest, RowsOfTheFirstVersionAreKeptWhenTablesAreMadeAnew) {
  apply("a.db", sqlite_migrations().first(1));
  tamper(folder_ / "a.db",
         "INSERT INTO requests VALUES ('r1', 7, 'acme', 'k', 'm', 'batch', '/v1/completions', '', "
         "'complete', 200,"
         " 'engine', 11, 0, 13, NULL, 0.5, 1.5);"
         "INSERT INTO charges VALUES ('r1', 1, 'a/0', 'a', 17), ('r1', 2, 'b/0', 'b', 19);");
  const std::string requests =
      "SELECT request_id || admitted_at_ns || tenant || key_id || model || service_class || endpoint || "
      "session"
      " || outcome || status || usage_source || prompt_tokens || cached_tokens || completion_tokens"
      " || coalesce(price_nanousd, 'unknown') || ttft_seconds || duration_seconds FROM requests";
  const std::string charges =
      "SELECT request_id || attempt || replica || pool || cost_nanousd FROM charges ORDER BY attempt";
  const auto requests_before = column(folder_ / "a.db", requests);
  const auto charges_before = column(folder_ / "a.db", charges);
  apply("a.db", sqlite_migrations());
  EXPECT_EQ(column(folder_ / "a.db", requests), requests_before);
  EXPECT_EQ(column(folder_ / "a.db", charges), charges_before);
  EXPECT_THAT(charges_before, testing::ElementsAre("r11a/0a17", "r12b/0b19"));
  EXPECT_THAT(column(folder_ / "a.db", "SELECT \"table\" FROM pragma_foreign_key_list('charges')"),
              testing::ElementsAre("requests"));
}

TEST_F(SchemaTest, TablesAreStrictAndMoneyColumnsAreIntegers) {
  apply("a.db", sqlite_migrations());
  EXPECT_THAT(column(folder_ / "a.db",
                     "SELECT name FROM pragma_table_list WHERE schema = 'main' AND NOT strict"
                     " AND name NOT LIKE 'sqlite_%'"),
              testing::IsEmpty());
  EXPECT_THAT(
      column(folder_ / "a.db",
             "SELECT t.name || '.' || c.name || ' ' || c.type FROM pragma_table_list t, "
             "pragma_table_info(t.name) c"
             " WHERE c.name LIKE '%cost%' OR c.name LIKE '%price%' OR c.name LIKE '%idle%' ORDER BY 1"),
      testing::ElementsAre("charges.cost_nanousd INTEGER", "idle_costs.idle_nanousd INTEGER",
                           "requests.price_nanousd INTEGER"));
}

}  // namespace
}  // namespace fareway::stores_test
