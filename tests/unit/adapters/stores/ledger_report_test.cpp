#include "adapters/stores/ledger_report.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "pricing/meter.hpp"
#include "tests/unit/adapters/stores/ledger_support.hpp"

namespace fareway::stores_test {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

class LedgerReport : public testing::Test {
 protected:
  void write(const std::vector<LedgerRow>& rows, const std::vector<IdleRow>& idle = {}) {
    SqliteLedger ledger(file_);
    for (const LedgerRow& row : rows) EXPECT_EQ(append_and_wait(ledger, row), Commit::kDurable);
    for (const IdleRow& row : idle) ledger.append(row);
  }
  Report report(ReportKey by, std::optional<WallTime> since = {}, std::optional<WallTime> until = {}) {
    return ledger_report(file_, by, since, until);
  }
  static std::vector<std::string> keys(const Report& report) {
    std::vector<std::string> names;
    names.reserve(report.lines.size());
    for (const ReportLine& line : report.lines) names.push_back(line.key);
    return names;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "a.db";
};

TEST_F(LedgerReport, SumsOneLineExactly) {
  write({Request("r1").tokens(100, 40, 20).price(1'000).ran("a/0", "a", 300),
         Request("r2").tokens(900, 0, 80).price(2'000).ran("a/0", "a", 500).ran("b/0", "b", 100)});
  const Report sums = report(ReportKey::kTenant);
  ASSERT_EQ(sums.lines.size(), 1U);
  const ReportLine& line = sums.lines[0];
  EXPECT_EQ(line.key, "acme");
  EXPECT_EQ(line.requests, 2);
  EXPECT_EQ(line.prompt, Tokens{1'000});
  EXPECT_EQ(line.cached, Tokens{40});
  EXPECT_EQ(line.completion, Tokens{100});
  EXPECT_EQ(line.cost, NanoUsd{900});
  EXPECT_EQ(line.idle, NanoUsd{0});
  EXPECT_EQ(line.price, NanoUsd{3'000});
  EXPECT_EQ(line.unpriced, 0);
  EXPECT_EQ(line.uncounted, 0);
  EXPECT_EQ(line.margin, NanoUsd{2'100});
  // 900e-9 dollars for 1,100 tokens: 900e-9 / 1100 * 1e6.
  EXPECT_THAT(line.cost_per_mtok, Optional(Field(&UsdPerMTok::value, DoubleEq(0.9 / 1100))));
  EXPECT_EQ(sums.total.key, "total");
  EXPECT_EQ(sums.total.cost, line.cost);
  EXPECT_EQ(sums.total.margin, line.margin);
}

TEST_F(LedgerReport, GroupsByEachKeyDearestFirst) {
  write({Request("r1").tenant("t1").model("m1").service_class("c1").ran("a/0", "a", 1),
         Request("r2").tenant("t2").model("m2").service_class("c2").ran("b/0", "b", 3),
         Request("r3").tenant("t3").model("m1").service_class("c2").ran("a/1", "a", 1)});
  EXPECT_THAT(keys(report(ReportKey::kTenant)), ElementsAre("t2", "t1", "t3"));  // equal costs by name
  EXPECT_THAT(keys(report(ReportKey::kModel)), ElementsAre("m2", "m1"));
  EXPECT_THAT(keys(report(ReportKey::kClass)), ElementsAre("c2", "c1"));
  EXPECT_THAT(keys(report(ReportKey::kPool)), ElementsAre("b", "a"));
  for (const ReportKey by : {ReportKey::kTenant, ReportKey::kModel, ReportKey::kPool, ReportKey::kClass}) {
    EXPECT_EQ(report(by).total.requests, 3);
    EXPECT_EQ(report(by).total.cost, NanoUsd{5});
  }
}

TEST_F(LedgerReport, SpanTakesItsStartAndNotItsEnd) {
  const auto nanosecond = std::chrono::nanoseconds(1);
  write({Request("before").admitted(at(10) - nanosecond).ran("a/0", "a", 1),
         Request("first").admitted(at(10)).ran("a/0", "a", 10),
         Request("last").admitted(at(20) - nanosecond).ran("a/0", "a", 100),
         Request("after").admitted(at(20)).ran("a/0", "a", 1'000)},
        {{"a/0", "a", at(10) - nanosecond, at(11), NanoUsd{1}},
         {"a/0", "a", at(10), at(30), NanoUsd{10}},
         {"a/0", "a", at(20), at(21), NanoUsd{100}}});
  for (const ReportKey by : {ReportKey::kTenant, ReportKey::kModel, ReportKey::kPool, ReportKey::kClass}) {
    EXPECT_EQ(report(by, at(10), at(20)).total.cost, NanoUsd{110});
    EXPECT_EQ(report(by, at(10), {}).total.cost, NanoUsd{1'110});
    EXPECT_EQ(report(by, {}, at(20)).total.cost, NanoUsd{111});
    EXPECT_EQ(report(by).total.cost, NanoUsd{1'111});
  }
  EXPECT_EQ(report(ReportKey::kPool, at(10), at(20)).total.idle, NanoUsd{10});
  EXPECT_EQ(report(ReportKey::kPool, {}, at(10)).total.idle, NanoUsd{1});
  EXPECT_EQ(report(ReportKey::kPool).total.idle, NanoUsd{111});
  EXPECT_EQ(report(ReportKey::kTenant).total.idle, NanoUsd{0});
}

TEST_F(LedgerReport, EmptySpanHasNoLines) {
  write({Request("r1").ran("a/0", "a", 1)});
  const Report sums = report(ReportKey::kPool, at(50), at(50));
  EXPECT_THAT(sums.lines, IsEmpty());
  EXPECT_EQ(sums.total.requests, 0);
  EXPECT_EQ(sums.total.margin, std::nullopt);
  EXPECT_EQ(sums.total.cost_per_mtok, std::nullopt);
}

TEST_F(LedgerReport, UnknownIsCountedAndNeverTakenForZero) {
  write({Request("known").tokens(500, 0, 500).price(100).ran("a/0", "a", 40),
         Request("free").tokens(0, 0, 0).price(0).ran("a/0", "a", 1), Request("unknown").ran("a/0", "a", 7)});
  const ReportLine line = report(ReportKey::kTenant).total;
  EXPECT_EQ(line.requests, 3);
  EXPECT_EQ(line.unpriced, 1);
  EXPECT_EQ(line.uncounted, 1);
  EXPECT_EQ(line.cost, NanoUsd{48});
  EXPECT_EQ(line.price, NanoUsd{100});
  EXPECT_EQ(line.margin, NanoUsd{100 - 41}) << "the margin of the unpriced request is unknown, not -7";
  EXPECT_THAT(line.cost_per_mtok, Optional(Field(&UsdPerMTok::value, DoubleEq(41e-9 / 1000 * 1e6))));
}

TEST_F(LedgerReport, NothingPricedHasNoMarginAndNothingCountedNoCostAToken) {
  write({Request("r1").ran("a/0", "a", 7)});
  const ReportLine line = report(ReportKey::kModel).total;
  EXPECT_EQ(line.margin, std::nullopt);
  EXPECT_EQ(line.cost_per_mtok, std::nullopt);
}

TEST_F(LedgerReport, MarginMayBeALoss) {
  write({Request("r1").price(10).ran("a/0", "a", 70)});
  EXPECT_EQ(report(ReportKey::kModel).total.margin, NanoUsd{-60});
}

TEST_F(LedgerReport, PoolPaysForItsAttemptsAndOwnsTheRequestsThatEndedThere) {
  write({Request("retried")
             .tokens(10, 0, 10)
             .price(100)
             .ran("a/0", "a", 5)
             .ran("a/1", "a", 2)
             .ran("b/0", "b", 30),
         Request("simple").price(50).ran("b/0", "b", 3), Request("never placed").price(0)});
  const Report sums = report(ReportKey::kPool);
  ASSERT_THAT(keys(sums), ElementsAre("b", "a", "(none)"));
  EXPECT_EQ(sums.lines[0].cost, NanoUsd{33});
  EXPECT_EQ(sums.lines[0].requests, 2);
  EXPECT_EQ(sums.lines[0].price, NanoUsd{150});
  EXPECT_EQ(sums.lines[0].margin, NanoUsd{150 - 37 - 3});  // with what the retried one cost elsewhere
  EXPECT_EQ(sums.lines[0].prompt, Tokens{10});
  EXPECT_EQ(sums.lines[1].cost, NanoUsd{7});
  EXPECT_EQ(sums.lines[1].requests, 0);
  EXPECT_EQ(sums.lines[1].margin, std::nullopt);
  EXPECT_EQ(sums.lines[2].requests, 1);
  EXPECT_EQ(sums.lines[2].cost, NanoUsd{0});
  EXPECT_EQ(sums.total.requests, 3);
  EXPECT_EQ(sums.total.cost, NanoUsd{40});
  EXPECT_EQ(sums.total.margin, report(ReportKey::kTenant).total.margin);
}

TEST_F(LedgerReport, PoolThatOnlyIdledHasALineByItsCost) {
  write({Request("r1").ran("a/0", "a", 5)}, {{"b/0", "b", at(1), at(2), NanoUsd{9}}});
  const Report sums = report(ReportKey::kPool);
  ASSERT_THAT(keys(sums), ElementsAre("b", "a"));
  EXPECT_EQ(sums.lines[0].idle, NanoUsd{9});
  EXPECT_EQ(sums.lines[0].cost, NanoUsd{0});
  EXPECT_EQ(sums.lines[0].requests, 0);
}

TEST_F(LedgerReport, ChargesAndIdleAddUpToPriceTimesHours) {
  // 8 devices at $2.50: an hour costs 20 dollars, here split unevenly so that every division leaves a
  // remainder.
  const TimePoint start{};
  Meter meter(NanoUsdPerHour{20 * kNanoPerUsd}, start);
  std::vector<LedgerRow> rows;
  std::vector<IdleRow> idle;
  NanoUsd idle_before{};
  std::int64_t second = 0;
  for (int i = 0; i < 30; ++i) {
    const auto first = meter.begin(3, start + std::chrono::seconds(second += 7));
    idle.push_back({"a/0", "a", at(second - 7), at(second), meter.idle() - idle_before});
    idle_before = meter.idle();
    const auto other = meter.begin(7, start + std::chrono::seconds(second += 11));
    const NanoUsd cost_of_first = meter.end(first, start + std::chrono::seconds(second += 13));
    const NanoUsd cost_of_other = meter.end(other, start + std::chrono::seconds(second += 17));
    rows.push_back(Request("x" + std::to_string(i)).ran("a/0", "a", cost_of_first.value));
    rows.push_back(Request("y" + std::to_string(i)).ran("a/0", "a", cost_of_other.value));
  }
  ASSERT_EQ(second, 30 * 48);
  write(rows, idle);
  const ReportLine total = report(ReportKey::kPool).total;
  EXPECT_EQ(total.cost + total.idle, NanoUsd{20 * kNanoPerUsd * 30 * 48 / 3600});
  EXPECT_EQ(total.cost, meter.charged());
  EXPECT_EQ(total.idle, meter.idle());
}

TEST_F(LedgerReport, SumsAreExactBeyondWhatADoubleHolds) {
  constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;
  write({Request("r1").price(kOdd).ran("a/0", "a", kOdd),
         Request("r2").price(kOdd + 1).ran("a/0", "a", kOdd + 1)});
  const ReportLine total = report(ReportKey::kPool).total;
  EXPECT_EQ(total.cost, NanoUsd{2 * kOdd + 1});
  EXPECT_EQ(total.price, NanoUsd{2 * kOdd + 1});
  EXPECT_EQ(total.margin, NanoUsd{0});
}

TEST_F(LedgerReport, SumAtTheEndOfTheRangeIsExact) {
  write({Request("r1").price(kMax - 1), Request("r2").tenant("other").price(1)});
  EXPECT_EQ(report(ReportKey::kTenant).total.price, NanoUsd{kMax});
  EXPECT_EQ(report(ReportKey::kModel).total.price, NanoUsd{kMax});
}

TEST_F(LedgerReport, SumBeyondTheRangeIsAnErrorAndNotAWrongNumber) {
  write({Request("r1").price(kMax), Request("r2").tenant("other").price(1)});
  for (const ReportKey by : {ReportKey::kModel, ReportKey::kTenant}) {  // within a line; between lines
    EXPECT_THAT(error_of([&] { report(by); }), HasSubstr("more than 9.2 billion dollars"));
  }
}

TEST_F(LedgerReport, CostAndIdleTogetherBeyondTheRangeAreAnErrorToo) {
  write({Request("r1").ran("a/0", "a", kMax), Request("r2").ran("b/0", "b", 0)},
        {{"a/0", "a", at(1), at(2), NanoUsd{1}}});
  EXPECT_THAT(error_of([&] { report(ReportKey::kPool); }), HasSubstr("more than 9.2 billion dollars"));
}

TEST_F(LedgerReport, ReadsBesideTheWriterAndAfterIt) {
  {
    SqliteLedger ledger(file_);
    append_and_wait(ledger, Request("r1").ran("a/0", "a", 5));
    EXPECT_EQ(report(ReportKey::kPool).total.cost, NanoUsd{5});
    append_and_wait(ledger, Request("r2").ran("a/0", "a", 5));
    EXPECT_EQ(report(ReportKey::kPool).total.cost, NanoUsd{10});
  }
  EXPECT_EQ(report(ReportKey::kPool).total.cost, NanoUsd{10});
}

TEST_F(LedgerReport, MissingLedgerIsNamedAndNotMade) {
  EXPECT_THAT(error_of([&] { report(ReportKey::kPool); }), HasSubstr(file_.string() + " does not exist"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace fareway::stores_test
