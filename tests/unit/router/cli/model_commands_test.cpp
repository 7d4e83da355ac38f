// `fareway speed` and `fareway compare`, as programs and people read them.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "router/cli/commands.hpp"
#include "router/cli/cost_chart.hpp"
#include "router/cli/price_file.hpp"
#include "router/config/config.hpp"

namespace fareway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

template <class F>
std::string printed(const F& command) {
  ::testing::internal::CaptureStdout();
  const int code = command();
  std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  return text;
}

template <class F>
std::string refusal(const F& command) {
  try {
    command();
  } catch (const std::exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

SpeedOptions speed_of(const char* deployment, std::int64_t context, std::int64_t batch) {
  return {.model = "Kimi-K3", .deployment = deployment, .context = context, .batch = batch, .json = true};
}

TEST(SpeedCommand, GivesStepByPartRatesAndFirstTokenAsJson) {
  const Json json = Json::parse(printed([] { return print_speed(speed_of("MI355X:tp8", 8192, 4)); }));
  EXPECT_EQ(json["tier"], "measured");
  const Json& step = json["step_ms"];
  EXPECT_NEAR(step["weights"].get<double>() + step["kv"].get<double>() + step["collectives"].get<double>() +
                  step["compute"].get<double>() + step["overhead"].get<double>(),
              step["total"].get<double>(), 1e-9);
  EXPECT_NEAR(json["tokens_per_second_aggregate"].get<double>(),
              4 * json["tokens_per_second_stream"].get<double>(), 1e-9);
  EXPECT_GT(json["ttft_cold_seconds"], json["prefill_seconds"]);
  EXPECT_TRUE(json["error_median"].is_null()) << "nobody has said it: unknown, not zero";
  EXPECT_EQ(json["fits"], true);
}

TEST(SpeedCommand, SaysWhereTheWeightsDoNotFitAndWhatIsOnlyADataSheet) {
  const Json json = Json::parse(printed([] { return print_speed(speed_of("L40S:tp8", 8192, 1)); }));
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["tier"], "data sheet");
  EXPECT_THAT(json["notes"].dump(), HasSubstr("no objective can be promised"));
}

TEST(SpeedCommand, RefusesWrongQuestionsWithTheOption) {
  EXPECT_THAT(refusal([] { print_speed({.model = "Kimi-K4", .deployment = "MI300X", .context = 1}); }),
              AllOf(HasSubstr("--model"), HasSubstr("did you mean")));
  EXPECT_THAT(refusal([] { print_speed(speed_of("MI305X", 1, 1)); }),
              AllOf(HasSubstr("--deployment"), HasSubstr("MI300X")));
  EXPECT_THAT(refusal([] { print_speed(speed_of("MI355X:tp8", 0, 1)); }), HasSubstr("--context"));
  EXPECT_THAT(refusal([] { print_speed(speed_of("MI355X:tp8", 2'000'000, 1)); }), HasSubstr("1048576"));
  EXPECT_THAT(refusal([] { print_speed(speed_of("MI355X:tp8", 1, -3)); }), HasSubstr("--batch"));
}

CompareOptions k3_comparison() {
  return {.model = "Kimi-K3",
          .deployments = "MI355X:tp8,B200:2x8:tp16,B300:tp8:dcp8",
          .price_file = FAREWAY_SOURCE_DIR "/deploy/prices.example.yaml",
          .json = true};
}

TEST(CompareCommand, RanksByTheExamplePricesAsPublished) {
  const Json json = Json::parse(printed([] { return print_comparison(k3_comparison()); }));
  const Json& first = json["as_published"][0];
  EXPECT_EQ(first["deployment"], "MI355X:tp8");
  EXPECT_NEAR(first["tokens_per_second_per_usd_hour"].get<double>(), 47.6, 0.01);
  EXPECT_EQ(json["prices"]["as_of"], "2026-08");
  EXPECT_EQ(json["ranking"].size(), 3);
  EXPECT_FALSE(json["flips"].empty()) << "fast users are cheaper on B300";
}

TEST(CompareCommand, LeavesOutWhoMissesTheTarget) {
  CompareOptions options = k3_comparison();
  options.slo = "tpot=7ms";
  const Json json = Json::parse(printed([&] { return print_comparison(options); }));
  ASSERT_EQ(json["ranking"].size(), 1);
  EXPECT_EQ(json["ranking"][0]["deployment"], "B300:tp8:dcp8");
}

// MI300X has points of 4 to 64 clients, 19 to 76 ms a token; 50 ms lie between two of them.
TEST(CompareCommand, MarksWhatLiesBeyondTheMeasuredPointsAsSpeedDoes) {
  CompareOptions options{.model = "DeepSeek-R1", .deployments = "8xMI300X", .json = true};
  const char* words = "beyond the points that this rests on: an extrapolation";
  const auto ranked = [&] {
    return Json::parse(printed([&] { return print_comparison(options); }))["ranking"][0];
  };
  const auto text = [&] {
    options.json = false;
    return printed([&] { return print_comparison(options); });
  };
  const Json most = ranked();
  EXPECT_EQ(most["extrapolated"], true) << "more clients than were measured";
  EXPECT_EQ(most["notes"], Json::array({words}));
  EXPECT_THAT(text(), HasSubstr(words));
  options.slo = "tpot=50ms";
  options.json = true;
  const Json within = ranked();
  EXPECT_EQ(within["extrapolated"], false);
  EXPECT_EQ(within["notes"], Json::array());
  EXPECT_THAT(text(), Not(HasSubstr(words)));
}

TEST(CompareCommand, RefusesWrongQuestionsWithTheOption) {
  const auto refused = [](auto change) {
    CompareOptions options = k3_comparison();
    change(options);
    return refusal([&] { print_comparison(options); });
  };
  EXPECT_THAT(refused([](CompareOptions& o) { o.slo = "tpot=fast"; }), HasSubstr("--slo: tpot"));
  EXPECT_THAT(refused([](CompareOptions& o) { o.slo = "speed=1s"; }),
              HasSubstr("neither tpot=TIME nor ttft=TIME"));
  EXPECT_THAT(refused([](CompareOptions& o) { o.input_tokens = 0; }), HasSubstr("--input-tokens"));
  EXPECT_THAT(refused([](CompareOptions& o) { o.deployments = "MI355X:tp8,"; }), HasSubstr("--deployments"));
  EXPECT_THAT(refused([](CompareOptions& o) { o.deployments = "H200:tp8"; }), HasSubstr("no price of H200"));
  EXPECT_THAT(refused([](CompareOptions& o) { o.price_file = "missing.yaml"; }), HasSubstr("cannot be read"));
}

TEST(PriceFile, SaysEveryProblemWithItsLine) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "fareway_prices_test.yaml";
  std::ofstream{file}
      << "usd_per_device_hour:\n  MI305X: 2\n  B200: -1\n  b200: 3\n  B200-SXM: 3\nasof: 2026\n";
  const std::string what = refusal([&] { load_prices(file); });
  EXPECT_THAT(what, HasSubstr("MI305X"));
  EXPECT_THAT(what, HasSubstr("must be dollars"));
  EXPECT_THAT(what, HasSubstr("is given twice"));
  EXPECT_THAT(what, HasSubstr("asof"));
  std::filesystem::remove(file);
}

TEST(CostChart, NamesItsAxesAndLinesAndEscapesThem) {
  const std::string svg =
      cost_chart("A & B", "load", {{"<one>", {{10, 2}, {20, 5}}}, {"two", {{15, 3}}}}, 12);
  EXPECT_THAT(svg, HasSubstr("tokens per second and user"));
  EXPECT_THAT(svg, HasSubstr("$ per million output tokens"));
  EXPECT_THAT(svg, HasSubstr("A &amp; B"));
  EXPECT_THAT(svg, HasSubstr("&lt;one>"));
  EXPECT_THAT(svg, HasSubstr("target"));
  EXPECT_THAT(svg, HasSubstr("<circle")) << "a line of one point is a dot";
  EXPECT_THAT(cost_chart("none", "", {}, 0), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace fareway
