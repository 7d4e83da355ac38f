// Devices and models of the catalogue in the policy file: by name alone, as the start of an entry, and what
// is told where neither file nor catalogue knows a name.

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/catalogue/catalogue.hpp"
#include "placement/model/capacity_question.hpp"
#include "placement/speed/speed_estimate.hpp"
#include "router/config/config.hpp"
#include "tests/unit/router/config/config_text.hpp"

namespace fareway::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// One deployment, written as `deployment`, in a pool of `device`; `sections` stand before it.
std::string config_of(const std::string& deployment, std::string_view device = "MI300X",
                      const std::string& sections = {}) {
  std::string text = small_config();
  text.erase(text.find("models:"), text.find("pools:") - text.find("models:"));
  text.insert(text.find("pools:"), sections + "deployments:\n  - " + deployment + "\n");
  text = replaced(std::move(text), "deployment: llama-mi300x", "deployment: d");
  return replaced(std::move(text), "device: MI300X\n    capacity",
                  "device: " + std::string(device) + "\n    capacity");
}

Config parsed(const std::string& text) {
  return parse_config(text, "test.yaml");
}

TEST(CatalogueConfig, ADeploymentNeedsNoEntryForAKnownModel) {
  const Config config = parsed(config_of("{name: d, model: gpt-oss-120b, device: MI300X}"));
  ASSERT_EQ(config.fleet.models.size(), 1U);
  const Model& known = *find_model("gpt-oss-120b");
  EXPECT_EQ(config.fleet.models[0].kv_per_token, known.kv_per_token);
  const Deployment& deployment = config.fleet.deployments[0];
  EXPECT_EQ(deployment.format, NumberFormat::kMxfp4) << "the publisher's own";
  EXPECT_EQ(deployment.weights, known.checkpoint(NumberFormat::kMxfp4)->weights);
  EXPECT_EQ(deployment.context_limit, known.context_limit);
}

TEST(CatalogueConfig, ClientsAskForAKnownModelAsTheFileCallsIt) {
  const Config config = parsed(config_of("{name: d, model: openai/gpt-oss-120b, device: mi300x}", "mi300x"));
  EXPECT_EQ(config.fleet.models[0].name, "openai/gpt-oss-120b");
  EXPECT_EQ(config.fleet.pools[0].device, "MI300X");
}

TEST(CatalogueConfig, AnEntryOfAKnownNameNeedsOnlyWhatDiffers) {
  const Config config =
      parsed(config_of("{name: d, model: glm-4.5-air, device: H200-SXM, format: fp8}", "H200",
                       "models:\n  - {name: glm-4.5-air, context_limit: 32768, list_price: "
                       "{input: 0.2, cached: 0.03, output: 1.1}}\n"));
  const Model& model = config.fleet.models[0];
  EXPECT_EQ(model.name, "glm-4.5-air");
  EXPECT_EQ(model.context_limit, Tokens{32'768});
  EXPECT_EQ(model.layers, find_model("GLM-4.5-Air")->layers);
  ASSERT_TRUE(model.list_price);
  EXPECT_EQ(model.list_price->output, NanoUsdPerMTok{1'100'000'000});
}

TEST(CatalogueConfig, AnEntryOfAnotherNameStartsFromTheOneItNames) {
  const Config config =
      parsed(config_of("{name: d, model: ours, device: fast}", "fast",
                       "models:\n  - {name: ours, catalogue: Llama-3.1-8B, weights: {fp8: 9GB}}\n"
                       "devices:\n  - {name: fast, catalogue: MI300X, hbm_bandwidth: 6TB/s}\n"));
  const Model& model = config.fleet.models[0];
  EXPECT_EQ(model.kv_heads, 8U);
  EXPECT_EQ(model.checkpoint(NumberFormat::kFp8)->weights, Bytes{9'000'000'000});
  EXPECT_EQ(model.checkpoint(NumberFormat::kBf16)->weights, Bytes{16'059'990'016});
  EXPECT_EQ(config.fleet.devices[0].name, "fast");
  EXPECT_EQ(config.fleet.devices[0].hbm_bandwidth, BytesPerSecond{6e12});
  EXPECT_EQ(config.fleet.devices[0].fp8_dialect, Fp8Dialect::kFnuz);
}

TEST(CatalogueConfig, AGivenCacheFigureReplacesTheFinerOnesToo) {
  const Config config =
      parsed(config_of("{name: d, model: deepseek-v3.2, device: B300, parallelism: {tp: 8}, kv_dtype: fp8}",
                       "B300", "models:\n  - {name: deepseek-v3.2, kv_per_token: 70000B}\n"));
  EXPECT_EQ(config.fleet.deployments[0].capacity.kv_per_token, Bytes{35'000 * 8}) << "half, in eight copies";
}

TEST(CatalogueConfig, MemoryIsThatOfTheCapacityCommand) {
  const Config config = parsed(config_of(
      "{name: d, model: Qwen3.5-397B-A17B, device: MI355X, format: fp8, parallelism: {tp: 2, ep: 8, dp: 4},\n"
      "     memory_utilisation: 0.9, kv_dtype: fp8, reserve_per_device: 4GiB}",
      "MI355X"));
  const Model& model = *find_model("Qwen3.5-397B-A17B");
  const Capacity expected = capacity_of({.model = &model,
                                         .device = find_device("MI355X"),
                                         .checkpoint = *model.checkpoint(NumberFormat::kFp8),
                                         .parallelism = {.tp = 2, .ep = 8, .dp = 4},
                                         .reserve_per_device = {4 * kGibibyte},
                                         .utilisation = 0.9,
                                         .kv_format = KvFormat::kFp8});
  const Capacity& capacity = config.fleet.deployments[0].capacity;
  EXPECT_EQ(capacity.kv_pool, expected.kv_pool);
  EXPECT_EQ(capacity.kv_per_token, expected.kv_per_token);
  EXPECT_EQ(capacity.pools, 4);
}

TEST(CatalogueConfig, AnEmulatedFormatCarriesItsPenaltyAndAWarningThatSaysWhy) {
  const Config config = parsed(config_of("{name: d, model: gpt-oss-120b, device: MI300X}"));
  const Deployment& deployment = config.fleet.deployments[0];
  EXPECT_EQ(deployment.format_support, FormatSupport::kEmulated);
  const SpeedProfile native = estimate_speed({.model = config.fleet.models[0],
                                              .device = *find_device("MI300X"),
                                              .parallelism = {},
                                              .format = NumberFormat::kMxfp4,
                                              .weights = deployment.weights})
                                  .profile;
  EXPECT_DOUBLE_EQ(deployment.speed.expert_weights, native.expert_weights * deployment.format_slowdown);
  EXPECT_DOUBLE_EQ(deployment.speed.per_context_token, native.per_context_token)
      << "the cache is not emulated";
  EXPECT_THAT(config_warnings(config),
              Contains(HasSubstr("deployment d: mxfp4 is emulated: MI300X has no MXFP4 units")));
}

TEST(CatalogueConfig, RefusesWhatNeitherFileNorCatalogueKnows) {
  EXPECT_THAT(
      error_of(config_of("{name: d, model: gpt-oss-12b, device: MI300X}")),
      HasSubstr("deployments[0].model: no model is named \"gpt-oss-12b\"; did you mean \"gpt-oss-120b\"?"));
  EXPECT_THAT(error_of(config_of("{name: d, model: gpt-oss-20b, device: MI30X}")),
              HasSubstr("deployments[0].device: no device is named \"MI30X\"; did you mean \"MI300X\"?"));
  EXPECT_THAT(error_of(config_of("{name: d, model: m, device: MI300X}", "MI300X",
                                 "models:\n  - {name: m, catalogue: Kimi-K4}\n")),
              HasSubstr("models[0].catalogue: the catalogue has no \"Kimi-K4\"; did you mean"));
}

TEST(CatalogueConfig, RefusesFormatsOfUnknownSizeOrThatAnEngineCannotRun) {
  EXPECT_THAT(error_of(config_of("{name: d, model: Llama-3.1-8B, device: MI300X, format: int4}")),
              HasSubstr("weights: is missing, and the size of Llama-3.1-8B in int4 is not known"));
  EXPECT_THAT(error_of(config_of("{name: d, model: Llama-3.1-8B, device: MI300X, format: fp8, engine: vllm,\n"
                                 "     engine_version: \"0.5.4\"}")),
              HasSubstr("format: MI300X cannot run a fp8 checkpoint: vllm 0.5.4"));
  EXPECT_THAT(
      error_of(config_of("{name: d, model: Llama-3.1-8B, device: MI300X, engine_version: \"0.5.4\"}")),
      HasSubstr("engine_version: says nothing without engine"));
  EXPECT_THAT(error_of(config_of(
                  "{name: d, model: Llama-3.1-8B, device: MI300X, engine: vllm, engine_version: new}")),
              HasSubstr("engine_version: \"new\" is no version"));
}

TEST(CatalogueConfig, RefusesDegreesThatTheModelCannotBeSplitBy) {
  EXPECT_THAT(error_of(config_of("{name: d, model: Qwen3.8-27B, device: MI300X, parallelism: {tp: 5}}")),
              HasSubstr("parallelism.tp: 5 does not divide the 24 heads of Qwen3.8-27B"));
  EXPECT_THAT(error_of(config_of("{name: d, model: Qwen3.8-27B, device: MI300X, memory_utilisation: 1.2}")),
              HasSubstr("memory_utilisation: must be at most 1"));
  EXPECT_THAT(error_of(config_of("{name: d, model: Qwen3.8-27B, device: MI300X, memory_utilisation: .nan}")),
              HasSubstr("memory_utilisation: "));
  EXPECT_THAT(error_of(config_of("{name: d, model: Qwen3.8-27B, device: MI300X, context_limit: 262145}")),
              HasSubstr("context_limit: is more than the 262144 tokens that the model allows"));
}

}  // namespace
}  // namespace fareway::testing
