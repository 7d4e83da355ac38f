#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "router/cli/placement_suite.hpp"
#include "router/cli/trace_files.hpp"

namespace fareway {
namespace {

using ::testing::HasSubstr;

/// A file in the test's own folder, gone afterwards.
class File {
 public:
  File(const std::string& name, const std::string& text)
      : path_(std::filesystem::path(::testing::TempDir()) / name) {
    std::ofstream(path_) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

template <class Read>
std::string problem(Read read) {
  try {
    read();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(AzureTrace, GivesTimesFromTheFirstRequestAndTokens) {
  const File file("azure_ok.csv",
                  "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.5,374,44\r\n"
                  "2023-11-16 18:16:01.0000000,100,0\n");
  const simulation::Trace trace = read_azure_trace(file.path(), "conv");
  ASSERT_EQ(trace.requests.size(), 2u);
  EXPECT_EQ(trace.requests[0].prompt, 374);
  EXPECT_DOUBLE_EQ(trace.requests[1].seconds, 14.5);
  EXPECT_EQ(trace.requests[1].output, 1);  // an answer has at least its first token
}

TEST(AzureTrace, NamesTheLineItCannotRead) {
  const File file("azure_bad.csv",
                  "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.5,many,44\n");
  const std::string text = problem([&] { read_azure_trace(file.path(), "conv"); });
  EXPECT_THAT(text, HasSubstr("azure_bad.csv:2"));
  EXPECT_THAT(text, HasSubstr("token count"));
}

TEST(AzureTrace, ThatGoesBackInTimeIsRefused) {
  const File file(
      "azure_back.csv",
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,1\n2023-11-16 18:15:45,1,1\n");
  EXPECT_THAT(problem([&] { read_azure_trace(file.path(), "conv"); }), HasSubstr("earlier"));
}

TEST(MooncakeTrace, KeepsOnlyWholeBlocks) {
  const File file("mooncake_ok.jsonl",
                  R"({"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]})"
                  "\n"
                  R"({"timestamp": 3000, "input_length": 512, "output_length": 5, "hash_ids": [0]})"
                  "\n");
  const simulation::Trace trace = read_mooncake_trace(file.path(), "mooncake");
  ASSERT_EQ(trace.requests.size(), 2u);
  EXPECT_EQ(trace.requests[0].blocks.size(), 2u);
  EXPECT_DOUBLE_EQ(trace.requests[1].seconds, 3);
}

TEST(MooncakeTrace, NamesTheLineItCannotRead) {
  const File file("mooncake_bad.jsonl", "{\"timestamp\": 0}\n");
  EXPECT_THAT(problem([&] { read_mooncake_trace(file.path(), "m"); }), HasSubstr("mooncake_bad.jsonl:1"));
}

TEST(Traces, AFolderWithoutThemIsNamed) {
  EXPECT_THAT(problem([] { read_traces("/nonexistent"); }),
              HasSubstr("/nonexistent/azure_llm_2023_conv.csv"));
}

SuiteOptions quick_on_generated() {
  return {.scenes = {{.name = "generated", .traces = {simulation::generate_trace({}, 11)}}},
          .seeds = 1,
          .seconds = 60,
          .jobs = 2,
          .quick = true};
}

double rate_of(const nlohmann::json& suite, const std::string& policy) {
  for (const nlohmann::json& row : suite["scenes"][0]["goodput"])
    if (row["policy"] == policy) return row["rate"][0];
  return 0;
}

TEST(PlacementSuite, TheDollarsBeatEveryPublicPolicyOnGeneratedTraffic) {
  const nlohmann::json suite = run_placement_suite(quick_on_generated());
  const double ours = rate_of(suite, "fareway");
  ASSERT_GT(ours, 0);
  // Measured here: 4 % above shortest predicted latency, which has the same profiles, and more above the
  // rest.
  for (const nlohmann::json& row : suite["scenes"][0]["goodput"]) {
    if (row["policy"] == "fareway") continue;
    const double margin = row["policy"] == "shortest predicted latency" ? 1.0 : 1.05;
    EXPECT_GT(ours, margin * row["rate"][0].get<double>()) << row["policy"];
  }
  EXPECT_LT(ours, suite["scenes"][0]["bound"].get<double>());
  EXPECT_THAT(placement_tables(suite), HasSubstr("| shortest predicted latency |"));
  EXPECT_THAT(attainment_svg(suite["scenes"][0]), HasSubstr("<polyline"));
}

TEST(PlacementSuite, TheDollarsBeatPublicPoliciesOnRecordedConversations) {
  const char* named = std::getenv("FAREWAY_SHARED");
  const std::filesystem::path shared =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(FAREWAY_SOURCE_DIR).parent_path() / "shared";
  const std::filesystem::path file = shared / "data/traces/mooncake_conversation.jsonl";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "no recorded traces; FAREWAY_SHARED names the folder that has them";
  SuiteOptions options = quick_on_generated();
  options.scenes = {{.name = "mooncake", .traces = {read_mooncake_trace(file, "mooncake")}}};
  options.seconds = 80;
  const nlohmann::json suite = run_placement_suite(options);
  // Measured over five runs of 240 s: 2.3 times block cost, ten times weighted least connections.
  EXPECT_GT(rate_of(suite, "fareway"), 1.3 * rate_of(suite, "block cost"));
  EXPECT_GT(rate_of(suite, "fareway"), 1.3 * rate_of(suite, "weighted least connections"));
}

TEST(PlacementSuite, PrintsTheSameWithOneThreadAndWithThree) {
  SuiteOptions options = quick_on_generated();
  options.seconds = 25;
  options.jobs = 1;
  const std::string one = run_placement_suite(options).dump();
  options.jobs = 3;
  EXPECT_EQ(run_placement_suite(options).dump(), one);
}

}  // namespace
}  // namespace fareway
