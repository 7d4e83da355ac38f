// The figures that issue and design publish, from the catalogue's own entries; what parallelism does to them;
// remedies.

#include "placement/model/capacity_question.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/catalogue/catalogue.hpp"

namespace fareway {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kMebibyte = 1024 * 1024;

CapacityQuestion ask(std::string_view model, std::string_view device, Parallelism parallelism = {},
                     std::int64_t context = 8'192) {
  const Model* found = find_model(model);
  return {.model = found,
          .device = find_device(device),
          .checkpoint = found->checkpoints.front(),
          .parallelism = parallelism,
          .context = {context}};
}

CapacityAnswer answered(const CapacityQuestion& question) {
  EXPECT_THAT(question_problems(question), IsEmpty());
  return answer(question, catalogue_devices());
}

std::vector<std::string> keys_of_problems(const CapacityQuestion& question) {
  std::vector<std::string> keys;
  for (const QuestionProblem& problem : question_problems(question)) keys.push_back(problem.key);
  return keys;
}

// 192 GiB − 50.3 − 8 = 133.7 GiB; 16,528 MiB a sequence and 8 sessions at full context, 656 MiB and 208 at
// 8,192.
TEST(CapacityAnswer, OfQwenOnMi300xIsThePublishedOne) {
  const CapacityAnswer full = answered(ask("Qwen3.8-27B", "MI300X", {}, 262'144));
  EXPECT_NEAR(static_cast<double>(full.capacity.kv_pool.value) / static_cast<double>(kGibibyte), 133.7, 0.05);
  EXPECT_EQ(full.bytes_per_session, Bytes{16'528 * kMebibyte});
  EXPECT_EQ(full.sessions, 8);
  EXPECT_TRUE(full.fits());
  EXPECT_EQ(full.longest_context, Tokens{262'144}) << "the model's limit; the pool would hold more";
  const CapacityAnswer chat = answered(ask("Qwen3.8-27B", "MI300X"));
  EXPECT_EQ(chat.bytes_per_session, Bytes{656 * kMebibyte});
  EXPECT_EQ(chat.sessions, 208);
}

TEST(CapacityAnswer, OfQwenOnAnEightyGigabyteDeviceIsThePublishedOne) {
  for (const char* device : {"A100", "H100"}) {
    CapacityQuestion question = ask("Qwen3.8-27B", device, {}, 262'144);
    question.reserve_per_device = {6 * kGibibyte};
    EXPECT_EQ(answered(question).sessions, 1) << device;
    question.context = {8'192};
    EXPECT_EQ(answered(question).sessions, 36) << device;
  }
}

// Kimi K3: over 1.5 TB of weights. Not on 8 x B200 at 192 GB, but on 16 x B200, 8 x B300 and 8 x MI355X.
TEST(CapacityAnswer, OfKimiK3SaysWhereItFits) {
  const CapacityAnswer small = answered(ask("Kimi-K3", "B200", {.tp = 8}));
  EXPECT_FALSE(small.fits());
  ASSERT_TRUE(small.missing);
  EXPECT_EQ(*small.missing, small.bytes_per_session - small.capacity.kv_pool);
  EXPECT_THAT(small.remedies, Contains("16 x B200 (tp 16)"));
  EXPECT_THAT(small.remedies, Contains("8 x B300"));
  EXPECT_THAT(small.remedies, Contains("8 x MI355X"));
  EXPECT_TRUE(answered(ask("Kimi-K3", "B200", {.tp = 16})).fits());
  EXPECT_TRUE(answered(ask("Kimi-K3", "B300", {.tp = 8, .dcp = 8})).fits());
  EXPECT_TRUE(answered(ask("Kimi-K3", "MI355X", {.tp = 8})).fits());
}

TEST(CapacityAnswer, OfDeepSeekV4FlashFitsOneMi300xInItsPublishedMixedFormat) {
  const CapacityAnswer one = answered(ask("DeepSeek-V4-Flash", "MI300X"));
  EXPECT_TRUE(one.fits());
  EXPECT_EQ(one.format.support, FormatSupport::kEmulated) << "MXFP4 on gfx942";
  EXPECT_GT(one.sessions, 100);
  EXPECT_TRUE(answered(ask("DeepSeek-V4-Flash", "MI300X", {}, 1'048'576)).fits());
}

TEST(CapacityAnswer, ItsLinesAddUp) {
  CapacityQuestion question = ask("gpt-oss-120b", "H100", {.tp = 2});
  question.utilisation = 0.9;
  const CapacityAnswer found = answered(question);
  const auto line = [&](std::string_view label) {
    const auto at = std::ranges::find(found.lines, label, &ArithmeticLine::label);
    EXPECT_NE(at, found.lines.end()) << label;
    return at == found.lines.end() ? 0 : at->value;
  };
  EXPECT_EQ(line("usable memory"), 2 * (line("share of the engine") - line("runtime reserve")));
  EXPECT_EQ(line("KV pool"), line("usable memory") - line("weights"));
  EXPECT_EQ(line("KV of the context"), 8'192 * line("KV of one token"));
  EXPECT_EQ(line("bytes a session"), line("KV of the context") + line("KV of the windows"));
  EXPECT_EQ(line("sessions"), line("KV pool") / line("bytes a session"));
  EXPECT_EQ(line("sessions"), found.sessions);
}

TEST(CapacityAnswer, AWindowStopsGrowing) {
  const CapacityAnswer within = answered(ask("gpt-oss-120b", "H200", {}, 100));
  const CapacityAnswer beyond = answered(ask("gpt-oss-120b", "H200", {}, 1'000));
  const Model& model = *find_model("gpt-oss-120b");
  EXPECT_EQ(within.bytes_per_session, (model.kv_per_token + model.window_kv_per_token) * 100);
  EXPECT_EQ(beyond.bytes_per_session, model.kv_per_token * 1'000 + model.window_kv_per_token * 128);
}

TEST(CapacityAnswer, AnFp8CacheHalvesKvButNotStateOrIndex) {
  const auto bytes = [](std::string_view model, KvFormat format) {
    CapacityQuestion question = ask(model, "B300", {.tp = 8}, 1'000);
    question.kv_format = format;
    return capacity_of(question).sequence(question.context);
  };
  const Model& qwen = *find_model("Qwen3.5-397B-A17B");
  const Bytes halved =
      bytes("Qwen3.5-397B-A17B", KvFormat::kBf16) - bytes("Qwen3.5-397B-A17B", KvFormat::kFp8);
  EXPECT_EQ(halved, qwen.kv_per_token * 4 * 500) << "2 KV heads, 4 copies on 8 ranks";
  const Model& sparse = *find_model("DeepSeek-V3.2");
  EXPECT_EQ(bytes("DeepSeek-V3.2", KvFormat::kFp8), *sparse.kv_per_token_fp8 * 8 * 1'000);
}

TEST(CapacityAnswer, DcpSplitsTheCopiesThatMlaMakesUnderTp) {
  const Bytes copied = answered(ask("Kimi-K3", "MI355X", {.tp = 8})).capacity.kv_per_token;
  const Bytes split = answered(ask("Kimi-K3", "MI355X", {.tp = 8, .dcp = 8})).capacity.kv_per_token;
  EXPECT_EQ(copied, split * 8);
  EXPECT_EQ(split, find_model("Kimi-K3")->kv_per_token);
}

TEST(CapacityAnswer, DpRanksCopyAllButTheExpertsAndDoNotShareTheirPools) {
  const CapacityQuestion question = ask("DeepSeek-V3", "MI355X", {.tp = 1, .ep = 8, .dp = 8}, 8'192);
  const CapacityAnswer found = answered(question);
  const Bytes one = question.checkpoint.weights;
  const Bytes all = weights_in_group(*question.model, one, question.parallelism);
  EXPECT_GT(all, one);
  EXPECT_LT(all, one * 2) << "experts are 97 % of the parameters and are not copied";
  EXPECT_EQ(found.capacity.pools, 8);
  EXPECT_EQ(found.sessions, 8 * (found.capacity.kv_pool.value / 8 / found.bytes_per_session.value));
  EXPECT_EQ(found.capacity.kv_per_token, find_model("DeepSeek-V3")->kv_per_token)
      << "no copies: each rank has its own";
  EXPECT_EQ(weights_in_group(*find_model("Llama-3.1-8B"), {1'000}, {.dp = 3}), Bytes{3'000});
}

TEST(CapacityAnswer, AnUnevenPipelineIsAsLargeAsItsFullestStageAllows) {
  const Model& model = *find_model("Llama-3.1-405B");
  const Bytes even = capacity_of(ask("Llama-3.1-405B", "MI355X", {.tp = 8, .pp = 2})).kv_pool;
  const Bytes uneven = capacity_of(ask("Llama-3.1-405B", "MI355X", {.tp = 8, .pp = 4})).kv_pool;
  const Bytes usable = even + find_model("Llama-3.1-405B")->checkpoints.front().weights;
  ASSERT_EQ(model.layers, 126U);
  // 126 layers: 63 + 63 in two stages; 32 on the fullest of four, so these count as 126/32 = 3.94 stages.
  EXPECT_NEAR(static_cast<double>((uneven + model.checkpoints.front().weights).value),
              static_cast<double>(usable.value) / 2 * 126 / 32, 2);
}

TEST(CapacityQuestion, RefusesWhatNoEngineWouldRun) {
  EXPECT_THAT(keys_of_problems(ask("Qwen3.8-27B", "MI300X", {.tp = 5})), Contains("tp"));
  EXPECT_THAT(keys_of_problems(ask("Qwen3.8-27B", "MI300X", {.tp = 3})), Contains("tp"))
      << "3 divides 24 heads, but neither divides 4 KV heads nor is a multiple";
  EXPECT_THAT(keys_of_problems(ask("Qwen3.8-27B", "MI300X", {.ep = 2})), ElementsAre("ep", "ep"));
  EXPECT_THAT(keys_of_problems(ask("Qwen3.8-27B", "MI300X", {.tp = 4, .dcp = 2})), ElementsAre("dcp"));
  EXPECT_THAT(keys_of_problems(ask("Qwen3.8-27B", "MI300X", {.pp = 65})), ElementsAre("pp"));
  EXPECT_THAT(keys_of_problems(ask("Qwen3.8-27B", "MI300X", {}, 262'145)), ElementsAre("context"));
  EXPECT_THAT(keys_of_problems(ask("Qwen3.8-27B", "MI300X", {}, 0)), ElementsAre("context"));
  for (const double wrong :
       {0.0, -0.5, 1.01, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CapacityQuestion question = ask("Qwen3.8-27B", "MI300X");
    question.utilisation = wrong;
    EXPECT_THAT(keys_of_problems(question), ElementsAre("utilisation")) << wrong;
  }
}

TEST(CapacityRemedies, NameOnlyWhatRuns) {
  // An FNUZ checkpoint on an OCP device: the other device is right, more of the same never.
  CapacityQuestion question = ask("Llama-3.1-8B", "H100");
  question.checkpoint = {.format = NumberFormat::kFp8Fnuz, .weights = {9'080'668'160}};
  const CapacityAnswer wrong = answered(question);
  EXPECT_FALSE(wrong.fits());
  EXPECT_EQ(wrong.missing, std::nullopt) << "memory is not what it lacks";
  EXPECT_THAT(wrong.remedies, Contains("1 x MI300X"));
  EXPECT_THAT(wrong.remedies, Not(Contains(HasSubstr("B200"))));
  EXPECT_THAT(wrong.remedies, Contains(HasSubstr("the bf16 checkpoint")));
}

TEST(CapacityRemedies, OfferASmallerCacheAndAShorterContext) {
  CapacityQuestion question = ask("Llama-3.1-70B", "H100", {.tp = 2}, 131'072);
  const CapacityAnswer found = answered(question);
  EXPECT_FALSE(found.fits());
  EXPECT_THAT(found.remedies, Contains(HasSubstr("4 x H100 (tp 4)")));
  EXPECT_THAT(found.remedies, Contains(HasSubstr("the fp8 checkpoint")));
  const CapacityQuestion tight = ask("Llama-3.1-70B", "H100", {.tp = 4}, 131'072);
  EXPECT_TRUE(answered(tight).fits());
}

// Whatever remedy names another device, asking for it fits.
TEST(CapacityRemedies, OfOtherDevicesFitWhenAskedFor) {
  for (const Model& model : catalogue_models()) {
    for (const Device& device : catalogue_devices()) {
      SCOPED_TRACE(model.name + " on " + device.name);
      const CapacityAnswer found = answer(ask(model.name, device.name), catalogue_devices());
      EXPECT_TRUE(!found.fits() || found.remedies.empty());
      for (const Device& other : catalogue_devices()) {
        const bool named = std::ranges::find(found.remedies, "1 x " + other.name) != found.remedies.end();
        EXPECT_TRUE(!named || answer(ask(model.name, other.name), {}).fits()) << other.name;
      }
    }
  }
}

}  // namespace
}  // namespace fareway
