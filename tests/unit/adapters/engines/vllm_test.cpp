#include "adapters/engines/vllm.hpp"

#include <gmock/gmock.h>

#include "tests/unit/adapters/engines/samples.hpp"

namespace fareway {
namespace {

using test::read_file;
using test::samples_folder;
using ::testing::HasSubstr;

LoadReading read(std::string_view page) {
  const auto reading = Vllm{}.read_load(page);
  EXPECT_TRUE(reading.has_value()) << (reading ? "" : reading.error().what);
  return reading ? *reading : LoadReading{};
}

std::string refusal(std::string_view page) {
  const auto reading = Vllm{}.read_load(page);
  EXPECT_FALSE(reading.has_value()) << page;
  return reading ? "" : reading.error().what;
}

TEST(Vllm, ReadsOneEngine) {
  const LoadReading reading = read(
      "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 37.0\n"
      "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 12.0\n"
      "vllm:num_requests_waiting_by_reason{engine=\"0\",model_name=\"m\",reason=\"capacity\"} 9.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.739\n"
      "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 1.170196e+06\n"
      "vllm:generation_tokens_created{engine=\"0\",model_name=\"m\"} 1.78693e+09\n"
      "vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"41226\"} 1.0\n"
      "vllm:engine_sleep_state{engine=\"0\",model_name=\"m\",sleep_state=\"awake\"} 1.0\n"
      "vllm:engine_sleep_state{engine=\"0\",model_name=\"m\",sleep_state=\"weights_offloaded\"} 0.0\n");
  EXPECT_EQ(reading.running, 37);
  EXPECT_EQ(reading.waiting, 12);
  EXPECT_EQ(reading.kv_usage, 0.739);
  EXPECT_EQ(reading.generated_tokens, 1170196);
  EXPECT_EQ(reading.kv_capacity, Tokens{41226 * 16});
  EXPECT_EQ(reading.seats, std::nullopt);
  EXPECT_FALSE(reading.asleep);
}

TEST(Vllm, SumsCountsOverDataParallelRanksAndAveragesUsage) {
  const LoadReading reading = read(
      "vllm:num_requests_running{engine=\"0\"} 37\n"
      "vllm:num_requests_running{engine=\"1\"} 3\n"
      "vllm:num_requests_waiting{engine=\"0\"} 12\n"
      "vllm:num_requests_waiting{engine=\"1\"} 0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.75\n"
      "vllm:kv_cache_usage_perc{engine=\"1\"} 0.25\n"
      "vllm:generation_tokens_total{engine=\"0\"} 100\n"
      "vllm:generation_tokens_total{engine=\"1\"} 50\n"
      "vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"100\"} 1.0\n"
      "vllm:cache_config_info{block_size=\"16\",engine=\"1\",num_gpu_blocks=\"100\"} 1.0\n");
  EXPECT_EQ(reading.running, 40);
  EXPECT_EQ(reading.waiting, 12);
  EXPECT_EQ(reading.kv_usage, 0.5);
  EXPECT_EQ(reading.generated_tokens, 150);
  EXPECT_EQ(reading.kv_capacity, Tokens{3200});
}

TEST(Vllm, TakesTheLargestOfSeveralProcessesNeverTheirSum) {
  const LoadReading reading = read(
      "vllm:num_requests_running{engine=\"0\"} 37\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",pid=\"412\"} 0.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",pid=\"413\"} 0.7391\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",pid=\"414\"} 0.0\n");
  EXPECT_EQ(reading.kv_usage, 0.7391);
}

TEST(Vllm, DoesNotTakeAMissingRankForAnIdleOne) {
  const LoadReading reading = read(
      "vllm:num_requests_running{engine=\"0\"} 3\n"
      "vllm:num_requests_running{engine=\"1\"} 5\n"
      "vllm:num_requests_waiting{engine=\"0\"} 4\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n"
      "vllm:kv_cache_usage_perc{engine=\"1\"} NaN\n");
  EXPECT_EQ(reading.running, 8);
  EXPECT_EQ(reading.waiting, std::nullopt);
  EXPECT_EQ(reading.kv_usage, std::nullopt);
}

TEST(Vllm, ReadsTheNewNameWhereBothAreThere) {
  EXPECT_EQ(read("vllm:gpu_cache_usage_perc{engine=\"0\"} 0.9\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.1\n")
                .kv_usage,
            0.1);
  EXPECT_EQ(read("vllm:gpu_cache_usage_perc{engine=\"0\"} 0.9\nvllm:kv_cache_usage_perc{engine=\"0\"} NaN\n")
                .kv_usage,
            std::nullopt);
}

TEST(Vllm, ReadsV0WhoseSwappedRequestsWaitToo) {
  const LoadReading reading = read(
      "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"27134\"} 1.0\n"
      "vllm:num_requests_running{model_name=\"m\"} 8.0\n"
      "vllm:num_requests_swapped{model_name=\"m\"} 1.0\n"
      "vllm:num_requests_waiting{model_name=\"m\"} 2.0\n"
      "vllm:gpu_cache_usage_perc{model_name=\"m\"} 0.5128\n"
      "vllm:cpu_cache_usage_perc{model_name=\"m\"} 0.0\n");
  EXPECT_EQ(reading.running, 8);
  EXPECT_EQ(reading.waiting, 3);
  EXPECT_EQ(reading.kv_usage, 0.5128);
  EXPECT_EQ(reading.kv_capacity, Tokens{27134 * 16});
}

TEST(Vllm, LetsNoNumberThroughThatIsNotOne) {
  const LoadReading reading = read(
      "vllm:num_requests_running{engine=\"0\"} +Inf\n"
      "vllm:num_requests_waiting{engine=\"0\"} -1\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} NaN\n"
      "vllm:generation_tokens_total{engine=\"0\"} 1e300\n");
  EXPECT_EQ(reading, LoadReading{});
}

TEST(Vllm, ClampsUsageAndRefusesPercentages) {
  EXPECT_EQ(read("vllm:kv_cache_usage_perc{engine=\"0\"} 1.07\n").kv_usage, 1.0);
  EXPECT_EQ(read("vllm:kv_cache_usage_perc{engine=\"0\"} 43.9\n").kv_usage, std::nullopt);
}

TEST(Vllm, SaysNothingOfWhatThePageDoesNotSay) {
  const LoadReading reading = read("vllm:num_requests_running{engine=\"0\"} 3\n");
  EXPECT_EQ(reading.running, 3);
  EXPECT_EQ(reading.waiting, std::nullopt);
  EXPECT_EQ(reading.kv_usage, std::nullopt);
  EXPECT_EQ(reading.kv_capacity, std::nullopt);
  EXPECT_EQ(reading.generated_tokens, std::nullopt);
  EXPECT_FALSE(reading.asleep);
}

TEST(Vllm, CountsARepeatedSeriesOnceTheLaterTime) {
  EXPECT_EQ(
      read("vllm:num_requests_running{engine=\"0\"} 9\nvllm:num_requests_running{engine=\"0\"} 7\n").running,
      7);
}

TEST(Vllm, FindsASeriesWhateverLabelsAnAgentAdded) {
  EXPECT_EQ(read("vllm:num_requests_running{model_name=\"m\",namespace=\"prod\",engine=\"0\",pod=\"x\"} 3\n")
                .running,
            3);
}

TEST(Vllm, IsAsleepWhenOneRankIs) {
  EXPECT_TRUE(read("vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} 0\n").asleep);
  EXPECT_TRUE(read("vllm:engine_sleep_state{engine=\"0\",sleep_state=\"discard_all\"} 1\n").asleep);
  EXPECT_TRUE(read("vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} 1\n"
                   "vllm:engine_sleep_state{engine=\"1\",sleep_state=\"awake\"} 0\n")
                  .asleep);
  EXPECT_FALSE(read("vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} NaN\n").asleep);
}

TEST(Vllm, ReadsCapacityFromTheConfigurationLabels) {
  const std::string load = "vllm:num_requests_running{engine=\"0\"} 0\n";
  const auto capacity = [&load](const std::string& labels) {
    return read(load + "vllm:cache_config_info{" + labels + "} 1.0\n").kv_capacity;
  };
  EXPECT_EQ(capacity("block_size=\"16\",num_gpu_blocks=\"10\""), Tokens{160});  // not labelled with the rank
  EXPECT_EQ(capacity("block_size=\"1\",engine=\"0\",num_gpu_blocks=\"1180416\""), Tokens{1180416});
  // Hybrid models: blocks × block size is not the truth, and newer versions say what is.
  EXPECT_EQ(capacity("block_size=\"16\",engine=\"0\",kv_cache_size_tokens=\"99\",num_gpu_blocks=\"10\""),
            Tokens{99});
  EXPECT_EQ(capacity("block_size=\"16\",engine=\"0\",kv_cache_size_tokens=\"None\",num_gpu_blocks=\"10\""),
            Tokens{160});
  EXPECT_EQ(capacity("block_size=\"16\",engine=\"0\",num_gpu_blocks=\"None\""), std::nullopt);
  EXPECT_EQ(capacity("block_size=\"16\",engine=\"0\",num_gpu_blocks=\"-3\""), std::nullopt);
  EXPECT_EQ(capacity("block_size=\"9223372036854775807\",num_gpu_blocks=\"9223372036854775807\""),
            std::nullopt);
}

TEST(Vllm, TellsAnOperatorWhyAPageIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("<html><body>502 Bad Gateway</body></html>"), HasSubstr("holds no metrics"));
  EXPECT_THAT(refusal("[]"), HasSubstr("holds no metrics"));
  EXPECT_THAT(refusal("process_cpu_seconds_total 4\n"), HasSubstr("--disable-log-stats"));
  EXPECT_THAT(refusal("sglang:num_running_reqs{dp_rank=\"0\"} 4\n"), HasSubstr("engine"));
}

TEST(Vllm, NeverRepeatsTheAnswerInAnError) {
  EXPECT_THAT(refusal("<html>secret</html>"), ::testing::Not(HasSubstr("secret")));
}

TEST(Vllm, ExplainsAnElasticScaling) {
  const Vllm vllm;
  EXPECT_THAT(vllm.explain(503, R"({"error":"The model is currently scaling. Please try again later."})"),
              HasSubstr("scaling"));
  EXPECT_EQ(vllm.explain(503, ""), "");
}

// One recorded page against the rows of expected.json, one row a rank.
void check_recorded(const std::filesystem::path& folder, const std::string& file,
                    const nlohmann::json& rows) {
  SCOPED_TRACE(file);
  const LoadReading reading = read(read_file(folder / file));
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  double usage = 0;
  bool asleep = false;
  for (const auto& row : rows) {
    running += row.at("running").get<std::int64_t>();
    waiting += row.at("waiting").get<std::int64_t>() + row.value("swapped", 0);
    usage += row.at("kv_usage").get<double>() / static_cast<double>(rows.size());
    asleep = asleep || row.value("asleep", false);
  }
  EXPECT_EQ(reading.running, running);
  EXPECT_EQ(reading.waiting, waiting);
  ASSERT_TRUE(reading.kv_usage.has_value());
  EXPECT_DOUBLE_EQ(*reading.kv_usage, usage);
  EXPECT_EQ(reading.asleep, asleep);
  if (rows[0].contains("generation_tokens")) {
    EXPECT_EQ(reading.generated_tokens, rows[0].at("generation_tokens").get<std::int64_t>());
  }
  if (!rows[0].contains("kv_blocks")) return;
  if (rows[0].at("kv_blocks").is_null()) {
    EXPECT_EQ(reading.kv_capacity, std::nullopt);
  } else {
    const auto tokens =
        rows[0].at("kv_blocks").get<std::int64_t>() * rows[0].at("kv_block_tokens").get<std::int64_t>();
    EXPECT_EQ(reading.kv_capacity, Tokens{tokens});
  }
}

TEST(Vllm, ReadsEveryRecordedPageAsExpected) {
  FAREWAY_NEEDS_SAMPLES();
  for (const char* folder : {"vllm", "rocm"}) {
    const auto path = samples_folder() / folder;
    const auto expected = nlohmann::json::parse(read_file(path / "expected.json"));
    ASSERT_FALSE(expected.empty());
    for (const auto& [file, rows] : expected.items()) check_recorded(path, file, rows);
  }
}

TEST(Vllm, SurvivesEveryRecordedTrickyPage) {
  FAREWAY_NEEDS_SAMPLES();
  for (const auto& entry : std::filesystem::directory_iterator(samples_folder() / "tricky")) {
    if (!entry.is_regular_file()) continue;
    const auto reading = Vllm{}.read_load(read_file(entry.path()));
    if (reading && reading->kv_usage) {
      EXPECT_THAT(*reading->kv_usage, ::testing::AllOf(::testing::Ge(0), ::testing::Le(1)));
    }
    if (!reading) {
      EXPECT_FALSE(reading.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace fareway
