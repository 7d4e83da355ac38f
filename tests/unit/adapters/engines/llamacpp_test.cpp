#include "adapters/engines/llamacpp.hpp"

#include <gmock/gmock.h>

#include "tests/unit/adapters/engines/samples.hpp"

namespace fareway {
namespace {

using test::read_file;
using test::samples_folder;
using ::testing::HasSubstr;

constexpr const char* kDisabled =
    R"({"error":{"code":501,"message":"This server does not support metrics endpoint. Start it with `--metrics`",)"
    R"("type":"not_supported_error"}})";
constexpr const char* kLoading =
    R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})";

LoadReading read(std::string_view page) {
  const auto reading = LlamaCpp{}.read_load(page);
  EXPECT_TRUE(reading.has_value()) << (reading ? "" : reading.error().what);
  return reading ? *reading : LoadReading{};
}

std::string refusal(std::string_view page) {
  const auto reading = LlamaCpp{}.read_load(page);
  EXPECT_FALSE(reading.has_value()) << page;
  return reading ? "" : reading.error().what;
}

LoadReading capacity(std::string_view props) {
  LoadReading reading;
  LlamaCpp{}.read_capacity(props, reading);
  return reading;
}

TEST(LlamaCpp, ReadsItsMetricsPage) {
  const LoadReading reading = read(
      "# TYPE llamacpp:tokens_predicted_total counter\n"
      "llamacpp:tokens_predicted_total 310422\n"
      "llamacpp:requests_processing 3\n"
      "llamacpp:requests_deferred 2\n"
      "llamacpp:n_busy_slots_per_decode 2.31442\n");
  EXPECT_EQ(reading.running, 3);
  EXPECT_EQ(reading.waiting, 2);
  EXPECT_EQ(reading.generated_tokens, 310422);
  EXPECT_EQ(reading.kv_usage, std::nullopt);
  EXPECT_FALSE(reading.asleep);
}

TEST(LlamaCpp, ReadsTheUsageThatOldBuildsShow) {
  EXPECT_EQ(read("llamacpp:requests_processing 3\nllamacpp:kv_cache_usage_ratio 0.412109\n").kv_usage,
            0.412109);
}

TEST(LlamaCpp, ReadsAPageWrappedInAJsonString) {
  const LoadReading reading = read(R"("llamacpp:requests_processing 3\nllamacpp:requests_deferred 2\n")");
  EXPECT_EQ(reading.running, 3);
  EXPECT_EQ(reading.waiting, 2);
  EXPECT_THAT(refusal(R"("llamacpp:requests_processing 3\nllamacpp:req)"), HasSubstr("holds no metrics"));
}

TEST(LlamaCpp, LetsNoNumberThroughThatIsNotOne) {
  const LoadReading reading = read("llamacpp:requests_processing NaN\nllamacpp:requests_deferred -1\n");
  EXPECT_EQ(reading, LoadReading{});
}

TEST(LlamaCpp, TellsAnOperatorToStartItWithMetrics) {
  EXPECT_THAT(LlamaCpp{}.explain(501, kDisabled), HasSubstr("start llama-server with --metrics"));
  EXPECT_THAT(refusal(kDisabled), HasSubstr("start llama-server with --metrics"));
}

TEST(LlamaCpp, TellsAnOperatorWhyAPageIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("holds no metrics"));
  EXPECT_THAT(refusal("<html></html>"), HasSubstr("holds no metrics"));
  EXPECT_THAT(refusal("llamacpp:prompt_tokens_total 5\n"), HasSubstr("requests_processing"));
  EXPECT_THAT(refusal("vllm:num_requests_running{engine=\"0\"} 3\n"), HasSubstr("engine is another one"));
}

TEST(LlamaCpp, ExplainsLoadingAndLeavesOtherAnswersToTheirStatus) {
  EXPECT_EQ(LlamaCpp{}.explain(503, kLoading), "loading model");
  EXPECT_EQ(LlamaCpp{}.explain(503, R"({"error":{"message":"no slot available"}})"), "");
  EXPECT_EQ(LlamaCpp{}.explain(503, "not JSON"), "");
  EXPECT_EQ(LlamaCpp{}.explain(503, R"({"error":"Loading model"})"), "");
  EXPECT_EQ(LlamaCpp{}.explain(404, kLoading), "");
}

TEST(LlamaCpp, ReadsSlotsAndTheirContextFromProps) {
  const LoadReading reading =
      capacity(R"({"default_generation_settings":{"params":{"n_predict":-1},"n_ctx":8192},"total_slots":4})");
  EXPECT_EQ(reading.seats, 4U);
  EXPECT_EQ(reading.kv_capacity, Tokens{4 * 8192});
}

TEST(LlamaCpp, ReadsTheFlatPropsOfOldBuilds) {
  const LoadReading reading = capacity(
      R"({"system_prompt":"","default_generation_settings":{"n_ctx":1024,"n_predict":-1,"model":"m"},"total_slots":2})");
  EXPECT_EQ(reading.seats, 2U);
  EXPECT_EQ(reading.kv_capacity, Tokens{2 * 1024});
}

TEST(LlamaCpp, SaysNothingOfCapacityThatPropsDoNotTell) {
  EXPECT_EQ(capacity(R"({"default_generation_settings":{"n_ctx":1024}})"), LoadReading{});
  EXPECT_EQ(capacity(R"({"total_slots":4})").seats, 4U);
  EXPECT_EQ(capacity(R"({"total_slots":4})").kv_capacity, std::nullopt);
  for (const char* props : {"", "[]", "4", "\"x\"", "{", R"({"total_slots":0})", R"({"total_slots":-4})",
                            R"({"total_slots":"4"})", R"({"total_slots":18446744073709551615})",
                            R"({"total_slots":4294967296})", R"({"total_slots":null})"}) {
    EXPECT_EQ(capacity(props), LoadReading{}) << props;
  }
  EXPECT_EQ(capacity(R"({"total_slots":4,"default_generation_settings":[8192]})").kv_capacity, std::nullopt);
  EXPECT_EQ(capacity(R"({"total_slots":4,"default_generation_settings":{"n_ctx":1e99}})").kv_capacity,
            std::nullopt);
}

TEST(LlamaCpp, KeepsTheLoadWhenItReadsCapacity) {
  LoadReading reading = read("llamacpp:requests_processing 3\nllamacpp:requests_deferred 2\n");
  LlamaCpp{}.read_capacity(R"({"total_slots":4,"default_generation_settings":{"n_ctx":100}})", reading);
  EXPECT_EQ(reading.running, 3);
  EXPECT_EQ(reading.seats, 4U);
}

TEST(LlamaCpp, ReadsEveryRecordedAnswerAsExpected) {
  FAREWAY_NEEDS_SAMPLES();
  const auto folder = samples_folder() / "llamacpp";
  const auto expected = nlohmann::json::parse(read_file(folder / "expected.json"));
  for (const char* file : {"metrics.txt", "metrics_before_2025-05.txt"}) {
    SCOPED_TRACE(file);
    const auto& row = expected.at(file)[0];
    const LoadReading reading = read(read_file(folder / file));
    EXPECT_EQ(reading.running, row.at("running").get<std::int64_t>());
    EXPECT_EQ(reading.waiting, row.at("waiting").get<std::int64_t>());
    if (row.contains("generation_tokens")) {
      EXPECT_EQ(reading.generated_tokens, row.at("generation_tokens").get<std::int64_t>());
    }
    EXPECT_EQ(reading.kv_usage.has_value(), !row.at("kv_usage").is_null());
    if (reading.kv_usage) {
      EXPECT_EQ(*reading.kv_usage, row.at("kv_usage").get<double>());
    }
  }
  // This body is wrapped in a string and cut before its load: no load is read from it.
  refusal(read_file(folder / "metrics_json_escaped_body.txt"));
  EXPECT_THAT(refusal(read_file(folder / "metrics_disabled.json")), HasSubstr("--metrics"));
  EXPECT_EQ(LlamaCpp{}.explain(503, read_file(folder / "loading.json")), "loading model");
  EXPECT_EQ(capacity(read_file(folder / "props.json")).seats, 4U);
  EXPECT_EQ(capacity(read_file(folder / "props.json")).kv_capacity, Tokens{4 * 8192});
}

}  // namespace
}  // namespace fareway
