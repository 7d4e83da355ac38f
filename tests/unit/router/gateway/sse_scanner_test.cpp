#include "router/gateway/sse_scanner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fareway {
namespace {

struct Scanned {
  std::string ready;
  std::string held;
  AnswerFacts facts;
};

Scanned scan(std::string_view stream, std::size_t piece = std::string_view::npos,
             SseScanner::UsageChunk usage = SseScanner::UsageChunk::kRemove) {
  AnswerReading reading;
  SseScanner scanner(reading, usage);
  Scanned result;
  const auto collect = [&] {
    for (const auto bytes : scanner.ready()) result.ready += bytes;
    for (const auto bytes : scanner.held()) result.held += bytes;
  };
  while (!stream.empty()) {
    const std::string read(stream.substr(0, piece));  // a buffer that is gone after the call
    scanner.feed(read);
    collect();
    stream.remove_prefix(read.size());
  }
  scanner.finish();
  collect();
  result.facts = scanner.facts();
  return result;
}

const std::string kRole =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const std::string kA = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xe4\xb8\xad\"}}]}\n\n";
const std::string kFinish = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const std::string kUsage =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,"
    "\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n";
const std::string kDone = "data: [DONE]\n\n";

TEST(SseScanner, FindsTheSameInEveryCut) {
  const std::string stream = ": ping\n\n" + kRole + kA + ": ping\r\n" + kFinish + kUsage + kDone;
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    const Scanned seen = scan(stream, piece);
    ASSERT_EQ(seen.ready, ": ping\n\n" + kRole + kA + ": ping\r\n" + kFinish) << piece;
    ASSERT_EQ(seen.held, kDone) << piece;
    ASSERT_EQ(seen.facts.usage, (TokenUsage{{12}, {8}, {3}})) << piece;
    ASSERT_EQ(seen.facts.deltas, 1) << piece;
    ASSERT_TRUE(seen.facts.complete()) << piece;
  }
}

TEST(SseScanner, ReadsLinesThatEndInCrLf) {
  const std::string stream =
      "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\r\n\r\n"
      "data: [DONE]\r\n\r\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    const Scanned seen = scan(stream, piece);
    EXPECT_EQ(seen.ready + seen.held, stream);
    EXPECT_TRUE(seen.facts.terminal);
    EXPECT_TRUE(seen.facts.complete());
  }
}

TEST(SseScanner, LeavesUsageOnAChunkThatHasMore) {
  const std::string last =
      "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],"
      "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}}\n\n";
  const Scanned seen = scan(kA + last);
  EXPECT_EQ(seen.ready, kA + last);
  EXPECT_EQ(seen.facts.usage, (TokenUsage{{12}, {0}, {3}}));
}

TEST(SseScanner, KeepsTheUsageChunkWhereTheClientAskedForIt) {
  EXPECT_EQ(scan(kA + kUsage, 5, SseScanner::UsageChunk::kRelay).ready, kA + kUsage);
}

TEST(SseScanner, TakesTheLastOfGrowingReportsAndNoReportOfZeros) {
  const auto usage = [](int completion) {
    return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":" +
           std::string(completion > 0 ? "12" : "0") + ",\"completion_tokens\":" + std::to_string(completion) +
           "}}\n\n";
  };
  EXPECT_EQ(scan(usage(1) + usage(2) + usage(3)).facts.usage->completion, Tokens{3});
  EXPECT_EQ(scan(usage(2) + usage(0)).facts.usage->completion, Tokens{2});
  EXPECT_EQ(scan(usage(0)).facts.usage, std::nullopt);
}

TEST(SseScanner, DoesNotTakeDoneForSuccess) {
  EXPECT_FALSE(scan(kA + kDone).facts.complete());
  EXPECT_FALSE(
      scan(kA + "data: {\"error\": {\"message\": \"x\", \"code\": 500}}\n\n" + kDone).facts.complete());
  EXPECT_FALSE(scan(kA + "error: {\"code\":500}\n\n").facts.complete());
  EXPECT_FALSE(
      scan("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n" + kDone)
          .facts.complete());
  EXPECT_FALSE(
      scan(kA + "data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" + kDone)
          .facts.complete())
      << "choice 0 has not finished";
}

TEST(SseScanner, PassesAnEventTooLargeToKeepAsItComes) {
  const std::string big =
      "data: {\"choices\":[{\"delta\":{\"content\":\"" + std::string(3u << 20, 'x') + "\"}}]}\n\n";
  AnswerReading reading;
  SseScanner scanner(reading, SseScanner::UsageChunk::kRemove);
  std::string out;
  const std::string stream = big + kFinish + kUsage + kDone;
  for (std::size_t at = 0; at < stream.size(); at += 60'000) {
    scanner.feed(std::string_view(stream).substr(at, 60'000));
    for (const auto bytes : scanner.ready()) out += bytes;
    if (at > (2u << 20) && at + 60'000 < (3u << 20)) {
      EXPECT_TRUE(scanner.mid_event());
    }
    EXPECT_LT(at + 60'000, out.size() + (1u << 20) + 120'000) << "held too much";
  }
  EXPECT_FALSE(scanner.mid_event());
  EXPECT_EQ(out, big + kFinish);
  EXPECT_TRUE(scanner.facts().terminal);
}

TEST(SseScanner, SurvivesNestingAndGarbage) {
  const std::string deep = "data: {\"choices\":" + std::string(100'000, '[') + "\n\n";
  EXPECT_EQ(scan(deep + "data: nonsense\n\n" + "\n\n\ndata\n\n").ready,
            deep + "data: nonsense\n\n\n\n\ndata\n\n");
}

TEST(SseScanner, ReadsTheEventsOfTheResponsesApi) {
  const Scanned seen = scan(
      "event: response.output_text.delta\ndata: "
      "{\"delta\":\"Paris\",\"type\":\"response.output_text.delta\"}\n\n"
      "event: response.completed\ndata: {\"response\":{\"status\":\"completed\",\"error\":null,\"usage\":{"
      "\"input_tokens\":14,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":6}},"
      "\"type\":\"response.completed\"}\n\n");
  EXPECT_EQ(seen.facts.usage, (TokenUsage{{14}, {4}, {6}}));
  EXPECT_EQ(seen.facts.deltas, 1);
  EXPECT_TRUE(seen.facts.complete());
  EXPECT_THAT(seen.held, ::testing::StartsWith("event: response.completed"));
}

TEST(AnswerReading, FindsUsageInTheTailOfALargeAnswer) {
  AnswerReading reading;
  AnswerFacts facts;
  reading.tail(R"(0.5]}],"model":"m","usage":{"prompt_tokens":8,"total_tokens":8,"details":{"a":1}}})",
               facts);
  EXPECT_EQ(facts.usage, (TokenUsage{{8}, {0}, {0}}));
  AnswerFacts none;
  reading.tail(R"("usage":}}{)", none);
  EXPECT_EQ(none.usage, std::nullopt);
}

}  // namespace
}  // namespace fareway
