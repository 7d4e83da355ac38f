// Published measurements as oracles: of the speed models, and of the arithmetic between throughput and
// dollars. They are not part of the repository; the tests are skipped where FAREWAY_SHARED does not name the
// folder that has them.
#include "bench/fits/fits.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/fits/csv.hpp"
#include "placement/speed/frontier.hpp"
#include "pricing/base/units.hpp"

namespace fareway {
namespace {

std::filesystem::path data_folder() {
  const char* named = std::getenv("FAREWAY_SHARED");
  const std::filesystem::path shared = named != nullptr
                                           ? std::filesystem::path(named)
                                           : std::filesystem::path(FAREWAY_SOURCE_DIR) / ".." / "shared";
  return shared / "data";
}

#define FAREWAY_NEEDS_DATA()                                                                      \
  if (!std::filesystem::exists(data_folder())) {                                                  \
    GTEST_SKIP() << "no published measurements; FAREWAY_SHARED names the folder with data/bench"; \
  }                                                                                               \
  static_assert(true)

TEST(Csv, FieldsMayBeQuotedAndRowsMustBeWhole) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "fareway_csv_test.csv";
  std::ofstream{file} << "a,b\n\"1,5\",\"say \"\"x\"\"\"\r\n2.5,\n";
  const CsvTable table = CsvTable::read(file);
  EXPECT_EQ(table.text(0, "a"), "1,5");
  EXPECT_EQ(table.text(0, "b"), "say \"x\"");
  EXPECT_EQ(table.number(1, "a"), 2.5);
  EXPECT_EQ(table.number(1, "b"), std::nullopt) << "empty is unknown, not zero";
  EXPECT_THROW(table.text(0, "c"), std::runtime_error);
  std::ofstream{file} << "a,b\n1\n";
  EXPECT_THROW(CsvTable::read(file), std::runtime_error);
  std::filesystem::remove(file);
}

struct PublishedFits {
  BenchmarkGroups groups = read_benchmark_groups(data_folder());
  std::vector<Fit> fits = group_fits(groups);
  PooledFits pooled = pooled_fits(groups, fits);
  RelativeError data_sheet = data_sheet_errors(groups, fits);
};

TEST(HoldOut, HalfOfTheTpotsOfKnownDeviceAndModelAreWithinTenPerCent) {
  FAREWAY_NEEDS_DATA();
  std::vector<double> medians;
  std::size_t within = 0;
  for (const Fit& fit : group_fits(read_benchmark_groups(data_folder()))) {
    if (!is_usable(fit)) continue;
    medians.push_back(fit.held_out.tpot.median);
    within += fit.held_out.tpot.median <= 0.10 ? 1 : 0;
  }
  EXPECT_GE(medians.size(), 80);
  EXPECT_LE(relative_error(medians).median, 0.05);
  EXPECT_GE(static_cast<double>(within) / static_cast<double>(medians.size()), 0.85);
}

TEST(HoldOut, HalfOfTheTpotsOfAModelNeverSeenAreWithinTwentyPerCent) {
  FAREWAY_NEEDS_DATA();
  const PublishedFits published;
  EXPECT_LE(published.pooled.unseen_model.median, 0.20);
  EXPECT_LT(published.pooled.unseen_model.median, published.data_sheet.median)
      << "a fit that is no better than the data sheet is none";
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  return text.str();
}

TEST(Calibrations, OfTheCatalogueAndTablesOfTheDocumentationAreWhatTheFitSays) {
  FAREWAY_NEEDS_DATA();
  const PublishedFits published;
  const std::filesystem::path source{FAREWAY_SOURCE_DIR};
  EXPECT_EQ(text_of(source / "placement/catalogue/calibrations.cpp"),
            calibrations_source(newest_fits(published.fits), published.pooled, published.data_sheet))
      << "bench_fits fit writes it anew";
  EXPECT_THAT(text_of(source / "docs/models.md"),
              testing::HasSubstr(hold_out_tables(published.fits, published.pooled, published.data_sheet)))
      << "bench_fits holdout prints them anew";
}

/// Price of one row's device as SemiAnalysis models hyperscalers' cost of ownership, April 2026.
std::optional<UsdPerHour> owned_price(const CsvTable& prices, const std::string& device) {
  for (std::size_t i = 0; i < prices.rows(); ++i) {
    const std::string& name = prices.text(i, "device");
    if (prices.text(i, "provider").find("hyperscaler-owned") == std::string::npos) continue;
    if (prices.text(i, "as_of").starts_with("2026-04") && name.substr(0, name.find('-')) == device)
      return UsdPerHour{*prices.number(i, "usd_per_gpu_hour")};
  }
  return std::nullopt;
}

TEST(InferenceX, PublishedDollarsPerMillionTokensFollowFromPriceAndThroughput) {
  FAREWAY_NEEDS_DATA();
  const CsvTable points = CsvTable::read(data_folder() / "bench/inferencex_blog_points.csv");
  const CsvTable prices = CsvTable::read(data_folder() / "prices/gpu_prices.csv");
  int priced = 0;
  int reproduced = 0;
  for (std::size_t i = 0; i < points.rows(); ++i) {
    const auto throughput = points.number(i, "tok_s_gpu_total");
    const auto published = points.number(i, "usd_per_mtok_total");
    if (!throughput || !published) continue;
    const auto price = owned_price(prices, points.text(i, "device"));
    ASSERT_TRUE(price) << points.text(i, "device");
    const double ours = (*price / TokensPerSecond{*throughput}).value;
    // Published to the cent; 1 % for throughputs that are rounded too.
    reproduced += std::abs(ours - *published) <= 0.005 + 0.01 * *published ? 1 : 0;
    ++priced;
  }
  EXPECT_EQ(priced, 147);
  EXPECT_EQ(reproduced, 146)
      << "one DeepSeek-V4-Pro row on GB200 is published as $0.10 and computes to $0.115";
}

/// DeepSeek-R1 in FP8, 8,192 in, 1,024 out, on one node without speculative decoding or disaggregation.
Frontier deepseek_frontier(const std::string& hardware) {
  const CsvTable table = CsvTable::read(data_folder() / "bench/inferencex_dsr1_latest.csv");
  std::vector<OperatingPoint> points;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto is = [&](const char* column, const char* value) { return table.text(i, column) == value; };
    if (table.text(i, "hardware") != hardware || !is("precision", "fp8") || !is("isl", "8192") ||
        !is("osl", "1024") || !is("disagg", "0") || !is("is_multinode", "0") || !is("spec_method", "none"))
      continue;
    points.push_back({*table.number(i, "median_intvty"), *table.number(i, "tput_per_gpu")});
  }
  return Frontier{points};
}

TEST(InferenceX, DeepSeekParetoValuesOfFourDevices) {
  FAREWAY_NEEDS_DATA();
  struct Expected {
    const char* hardware;
    double at_20, at_30, at_50,
        at_80;  // tok/s a GPU, in and out; read off the table by hand; 0: too fast for it
  };
  for (const auto& [hardware, at_20, at_30, at_50, at_80] :
       {Expected{"mi300x", 774.9, 624.9, 240.2, 0}, Expected{"mi355x", 1345.6, 1345.6, 1022.0, 337.9},
        Expected{"h200", 1311.6, 1177.1, 904.8, 514.3}, Expected{"b200", 2215.4, 2215.4, 1698.1, 575.8}}) {
    const Frontier frontier = deepseek_frontier(hardware);
    EXPECT_NEAR(frontier.at(20).value_or(OperatingPoint{}).throughput, at_20, 0.1) << hardware;
    EXPECT_NEAR(frontier.at(30).value_or(OperatingPoint{}).throughput, at_30, 0.1) << hardware;
    EXPECT_NEAR(frontier.at(50).value_or(OperatingPoint{}).throughput, at_50, 0.1) << hardware;
    EXPECT_NEAR(frontier.at(80).value_or(OperatingPoint{}).throughput, at_80, 0.1) << hardware;
  }
}

double mlperf_per_accelerator(const CsvTable& table, const std::string& id) {
  for (std::size_t i = 0; i < table.rows(); ++i)
    if (table.text(i, "ID") == id && table.text(i, "Model") == "llama2-70b-99" &&
        table.text(i, "Scenario") == "Offline")
      return *table.number(i, "result_per_accel");
  ADD_FAILURE() << "no Offline row " << id;
  return 0;
}

// MLPerf Inference v5.1, llama2-70b-99 Offline, against single-kind pools by the same software: 5.1-0066
// and 5.1-0067 (MangoBoost), 5.1-0031 and 5.1-0090 (with Dell and Supermicro).
TEST(MlPerf, MixedPoolsReachNearlyTheSumOfTheirParts) {
  FAREWAY_NEEDS_DATA();
  const CsvTable table = CsvTable::read(data_folder() / "bench/mlperf_inference_v5_1_llm.csv");
  const auto of = [&](const char* id) { return mlperf_per_accelerator(table, id); };
  EXPECT_NEAR(48 * of("5.1-0065") / (32 * of("5.1-0066") + 16 * of("5.1-0067")), 0.938, 0.001);
  EXPECT_NEAR(24 * of("5.1-0091") / (8 * of("5.1-0031") + 16 * of("5.1-0090")), 0.991, 0.001);
}

}  // namespace
}  // namespace fareway
