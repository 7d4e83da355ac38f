#include "adapters/stores/sqlite_ledger.hpp"

#include <fstream>
#include <future>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/unit/adapters/stores/child_process.hpp"
#include "tests/unit/adapters/stores/ledger_support.hpp"

namespace fareway::stores_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FieldsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::uint32_t big_endian(const std::string& bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(offset + i));
  return value;
}

/// Commits in the write-ahead log: frames that carry the size of the database
/// (sqlite.org/fileformat2.html, 4.1).
int commits_in_log(const std::filesystem::path& ledger) {
  std::ifstream in(ledger.string() + "-wal", std::ios::binary);
  const std::string log{std::istreambuf_iterator<char>(in), {}};
  constexpr std::size_t kHeader = 32;
  constexpr std::size_t kFrameHeader = 24;
  const std::size_t page = big_endian(log, 8);
  int commits = 0;
  for (std::size_t frame = kHeader; frame + kFrameHeader + page <= log.size(); frame += kFrameHeader + page) {
    if (big_endian(log, frame + 4) != 0) ++commits;
  }
  return commits;
}

/// Keeps the writer thread inside a callback until released.
class WriterHeld {
 public:
  explicit WriterHeld(SqliteLedger& ledger) {
    std::promise<void> entered;
    ledger.append(Request("holds the writer"), [this, &entered](Commit) {
      std::shared_future<void> end = released_.get_future().share();
      entered.set_value();
      end.wait();
    });
    entered.get_future().wait();
  }
  void release() { released_.set_value(); }

 private:
  std::promise<void> released_;
};

TEST(SqliteLedger, KeepsEveryFieldOfARow) {
  const TemporaryFolder folder;
  LedgerRow row =
      Request("r1").admitted(at(1'700'000'000) + std::chrono::nanoseconds(123'456'789)).tokens(30, 10, 7);
  row.session = "5e55";
  row.status = 502;
  row.outcome = Outcome::kIncomplete;
  row.usage_source = UsageSource::kCounted;
  row.price = NanoUsd{std::numeric_limits<std::int64_t>::max()};
  row.ttft = Seconds{0.25};
  row.charges = {{"a/0", "a", NanoUsd{0}}, {"b/1", "b", NanoUsd{9'007'199'254'740'993}}};
  {
    SqliteLedger ledger(folder / "a.db");
    EXPECT_EQ(append_and_wait(ledger, row), Commit::kDurable);
  }
  EXPECT_THAT(
      column(folder / "a.db",
             "SELECT json_array(request_id, admitted_at_ns, tenant, key_id, model, service_class, endpoint, "
             "session,"
             " outcome, status, usage_source, prompt_tokens, cached_tokens, completion_tokens, price_nanousd,"
             " ttft_seconds, duration_seconds) FROM requests"),
      ElementsAre(R"(["r1",1700000000123456789,"acme","k1","m","interactive","/v1/chat/completions","5e55",)"
                  R"("incomplete",502,"counted",30,10,7,9223372036854775807,0.25,0.5])"));
  EXPECT_THAT(column(folder / "a.db",
                     "SELECT json_array(request_id, attempt, replica, pool, cost_nanousd) FROM charges ORDER "
                     "BY attempt"),
              ElementsAre(R"(["r1",1,"a/0","a",0])", R"(["r1",2,"b/1","b",9007199254740993])"));
}

TEST(SqliteLedger, UnknownIsNullAndNotZero) {
  const TemporaryFolder folder;
  {
    SqliteLedger ledger(folder / "a.db");
    EXPECT_EQ(append_and_wait(ledger, Request("r1")), Commit::kDurable);
  }
  EXPECT_THAT(
      column(folder / "a.db",
             "SELECT json_array(usage_source, prompt_tokens, cached_tokens, completion_tokens, price_nanousd,"
             " ttft_seconds) FROM requests"),
      ElementsAre(R"(["unknown",null,null,null,null,null])"));
}

TEST(SqliteLedger, TakesEveryOutcomeAndUsageSource) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  for (const Outcome outcome : {Outcome::kComplete, Outcome::kIncomplete, Outcome::kClientClosed,
                                Outcome::kEngineError, Outcome::kFailed}) {
    for (const UsageSource source : {UsageSource::kEngine, UsageSource::kCounted, UsageSource::kUnknown}) {
      LedgerRow row = Request(std::string(to_string(outcome)) + std::to_string(static_cast<int>(source)));
      row.outcome = outcome;
      row.usage_source = source;
      EXPECT_EQ(append_and_wait(ledger, row), Commit::kDurable) << row.request_id;
    }
  }
}

TEST(SqliteLedger, KeepsIdleIntervals) {
  const TemporaryFolder folder;
  {
    SqliteLedger ledger(folder / "a.db");
    ledger.append(IdleRow{"a/0", "a", at(10), at(20), NanoUsd{77}});
  }
  EXPECT_THAT(column(folder / "a.db",
                     "SELECT json_array(replica, pool, from_ns, to_ns, idle_nanousd) FROM idle_costs"),
              ElementsAre(R"(["a/0","a",10000000000,20000000000,77])"));
}

TEST(SqliteLedger, ReopeningKeepsRows) {
  const TemporaryFolder folder;
  for (const char* id : {"r1", "r2", "r3"}) {
    SqliteLedger ledger(folder / "a.db");
    EXPECT_EQ(append_and_wait(ledger, Request(id)), Commit::kDurable);
  }
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1", "r2", "r3"));
}

TEST(SqliteLedger, RowIsVisibleToOthersBeforeItsOwnerHears) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  std::promise<std::vector<std::string>> seen;
  ledger.append(Request("r1"), [&](Commit) { seen.set_value(request_ids(folder / "a.db")); });
  EXPECT_THAT(seen.get_future().get(), ElementsAre("r1"));
}

TEST(SqliteLedger, OwnersHearInTheOrderOfTheirAppends) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  Receipts receipts;
  std::vector<std::string> ids;
  for (int i = 0; i < 1'000; ++i) {
    ids.push_back(std::to_string(i));
    ledger.append(Request(ids.back()), receipts.of(ids.back()));
  }
  std::vector<std::string> heard;
  for (const auto& [id, commit] : receipts.wait_for(ids.size())) {
    EXPECT_EQ(commit, Commit::kDurable);
    heard.push_back(id);
  }
  EXPECT_EQ(heard, ids);
  EXPECT_EQ(request_ids(folder / "a.db"), ids);
  EXPECT_EQ(ledger.backlog(), 0U);
}

TEST(SqliteLedger, RowsThatArriveDuringACommitShareTheNext) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  Receipts receipts;
  WriterHeld held(ledger);
  const int before = commits_in_log(folder / "a.db");
  for (int i = 0; i < 50; ++i) ledger.append(Request(std::to_string(i)), receipts.of(""));
  EXPECT_EQ(ledger.backlog(), 50U);
  held.release();
  EXPECT_THAT(receipts.wait_for(50), SizeIs(50));
  EXPECT_EQ(commits_in_log(folder / "a.db") - before, 1);
}

TEST(SqliteLedger, CommitsOfAFewRowsAreTwoMillisecondsApart) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  const int before = commits_in_log(folder / "a.db");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) append_and_wait(ledger, Request(std::to_string(i)));
  const auto intervals = (std::chrono::steady_clock::now() - start) / std::chrono::milliseconds(2);
  EXPECT_LE(commits_in_log(folder / "a.db") - before, 1 + intervals);
}

TEST(SqliteLedger, LargeBacklogIsCommittedInPieces) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  Receipts receipts;
  WriterHeld held(ledger);
  const int before = commits_in_log(folder / "a.db");
  constexpr std::size_t kRows = 4096 + 1;
  for (std::size_t i = 0; i < kRows; ++i) ledger.append(Request(std::to_string(i)), receipts.of(""));
  held.release();
  EXPECT_THAT(receipts.wait_for(kRows), SizeIs(kRows));
  EXPECT_EQ(commits_in_log(folder / "a.db") - before, 2);
}

TEST(SqliteLedger, ManyThreadsMayAppend) {
  const TemporaryFolder folder;
  constexpr int kThreads = 4;
  constexpr int kEach = 250;
  {
    SqliteLedger ledger(folder / "a.db");
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&ledger, thread] {
        for (int i = 0; i < kEach; ++i) {
          ledger.append(Request(std::to_string(thread) + "/" + std::to_string(i)), [](Commit) {});
          ledger.append(IdleRow{"a/0", "a", at(i), at(i + 1), NanoUsd{1}});
          EXPECT_EQ(ledger.trouble(), "");
        }
      });
    }
  }
  EXPECT_THAT(request_ids(folder / "a.db"), SizeIs(kThreads * kEach));
  EXPECT_THAT(column(folder / "a.db", "SELECT sum(idle_nanousd) FROM idle_costs"), ElementsAre("1000"));
}

TEST(SqliteLedger, ClosingCommitsWhatWaits) {
  const TemporaryFolder folder;
  Receipts receipts;
  {
    SqliteLedger ledger(folder / "a.db");
    for (int i = 0; i < 100; ++i) ledger.append(Request(std::to_string(i)), receipts.of("durable"));
  }
  EXPECT_THAT(receipts.wait_for(100), Each(FieldsAre("durable", Commit::kDurable)));
  EXPECT_THAT(request_ids(folder / "a.db"), SizeIs(100));
}

TEST(SqliteLedger, DurableRowSurvivesACrash) {
  const TemporaryFolder folder;
  ChildProcess child([&](const auto& say) {
    SqliteLedger ledger(folder / "a.db");
    say(append_and_wait(ledger, Request("r1").ran("a/0", "a", 5)) == Commit::kDurable ? "durable"
                                                                                      : "not durable");
  });
  ASSERT_EQ(child.hear(), "durable");
  child.kill();
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1"));
  SqliteLedger ledger(folder / "a.db");
  EXPECT_EQ(append_and_wait(ledger, Request("r2")), Commit::kDurable);
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1", "r2"));
}

TEST(SqliteLedger, ReadersNeitherBlockNorSeeLaterCommits) {
  const TemporaryFolder folder;
  SqliteLedger ledger(folder / "a.db");
  append_and_wait(ledger, Request("r1"));
  Database first = open_reader(folder / "a.db");
  Database second = open_reader(folder / "a.db");
  const Transaction view_of_first(first, Transaction::Kind::kRead);
  const Transaction view_of_second(second, Transaction::Kind::kRead);
  const auto count = [](Database& reader) {
    std::int64_t rows = -1;
    Statement(reader, "SELECT count(*) FROM requests").for_each_row([&](const Statement& row) {
      rows = row.integer(0);
    });
    return rows;
  };
  EXPECT_EQ(count(first), 1);
  EXPECT_EQ(count(second), 1);
  EXPECT_EQ(append_and_wait(ledger, Request("r2")), Commit::kDurable);
  EXPECT_EQ(count(first), 1);
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r1", "r2"));
}

/// Reads stderr while it lives.
class CapturedStderr {
 public:
  CapturedStderr() { testing::internal::CaptureStderr(); }
  std::string text() { return testing::internal::GetCapturedStderr(); }
};

TEST(SqliteLedger, RefusedRowHoldsUpNobodyAndGoesToStderr) {
  const TemporaryFolder folder;
  CapturedStderr captured;
  {
    SqliteLedger ledger(folder / "a.db");
    Receipts receipts;
    WriterHeld held(ledger);  // so that all share one transaction
    ledger.append(Request("r1").price(1), receipts.of("first"));
    ledger.append(Request("r1").price(2).ran("a/0", "a", 3), receipts.of("doubled"));
    ledger.append(Request("r2"), receipts.of("second"));
    held.release();
    EXPECT_THAT(receipts.wait_for(3),
                ElementsAre(FieldsAre("first", Commit::kDurable), FieldsAre("doubled", Commit::kRefused),
                            FieldsAre("second", Commit::kDurable)));
    EXPECT_EQ(ledger.refused(), 1U);
    EXPECT_EQ(ledger.backlog(), 0U);
    EXPECT_EQ(ledger.trouble(), "");
  }
  const auto line = nlohmann::json::parse(captured.text());
  EXPECT_EQ(line.at("event"), "ledger_row_refused");
  EXPECT_EQ(line.at("reason"), "UNIQUE constraint failed: requests.request_id");
  EXPECT_EQ(line.at("row").at("request_id"), "r1");
  EXPECT_EQ(line.at("row").at("price_nanousd"), 2);
  EXPECT_EQ(line.at("row").at("prompt_tokens"), nullptr);
  EXPECT_EQ(line.at("row").at("charges").at(0).at("cost_nanousd"), 3);
  EXPECT_THAT(column(folder / "a.db", "SELECT price_nanousd FROM requests WHERE request_id = 'r1'"),
              ElementsAre("1"));
  EXPECT_THAT(column(folder / "a.db", "SELECT request_id FROM charges"), IsEmpty());
}

TEST(SqliteLedger, RowIsRefusedWhollyWhenOneOfItsChargesIs) {
  const TemporaryFolder folder;
  CapturedStderr captured;
  {
    SqliteLedger ledger(folder / "a.db");
    EXPECT_EQ(append_and_wait(ledger, Request("r1").ran("a/0", "a", 3).ran("b/0", "b", -1)),
              Commit::kRefused);
    ledger.append(IdleRow{"a/0", "a", at(20), at(10), NanoUsd{77}});
    EXPECT_EQ(append_and_wait(ledger, Request("r2")), Commit::kDurable);
    EXPECT_EQ(ledger.refused(), 2U);
  }
  EXPECT_THAT(captured.text(),
              HasSubstr(R"("replica":"a/0","pool":"a","from_ns":20000000000,"to_ns":10000000000)"));
  EXPECT_THAT(request_ids(folder / "a.db"), ElementsAre("r2"));
  EXPECT_THAT(column(folder / "a.db", "SELECT request_id FROM charges"), IsEmpty());
}

TEST(SqliteLedger, StrangeBytesInATextReachStderrAsJson) {
  const TemporaryFolder folder;
  CapturedStderr captured;
  {
    SqliteLedger ledger(folder / "a.db");
    LedgerRow row = Request("");  // an id is required
    row.session = "\xff\"\n";
    EXPECT_EQ(append_and_wait(ledger, row), Commit::kRefused);
  }
  EXPECT_EQ(nlohmann::json::parse(captured.text()).at("row").at("session"), "\xef\xbf\xbd\"\n");
}

}  // namespace
}  // namespace fareway::stores_test
