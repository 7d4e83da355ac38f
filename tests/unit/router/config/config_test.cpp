#include "router/config/config.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/catalogue/catalogue.hpp"
#include "tests/unit/router/config/config_text.hpp"

namespace fareway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using testing::error_with;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::replaced;
using testing::small_config;
using ::testing::StrEq;

Config small() {
  return parse_config(small_config(), "test.yaml");
}

TEST(Config, ResolvesNamesAndUnits) {
  const Config config = small();
  ASSERT_EQ(config.fleet.replicas.size(), 1u);
  const Replica& replica = config.fleet.replicas[0];
  const Deployment& deployment = config.fleet[replica.deployment];
  EXPECT_EQ(config.fleet[deployment.model].name, "llama");
  EXPECT_EQ(config.fleet[deployment.model].kv_per_token, Bytes{131072});
  EXPECT_EQ(config.fleet[replica.pool].device, "MI300X");
  EXPECT_EQ(config.fleet[replica.pool].per_device_hour, NanoUsdPerHour{2'500'000'000});
  EXPECT_EQ(config.fleet[config.keys[0].default_class].name, "standard");
  EXPECT_EQ(config.fleet[config.keys[0].tenant].name, "product");
  EXPECT_EQ(config.access[0].endpoint.host, "10.0.0.1");
  EXPECT_EQ(config.access[0].endpoint.port, 8000);
  EXPECT_EQ(config.access[0].engine->name(), "vllm");
}

TEST(Config, TakesCapacityAndSpeedFromArithmetic) {
  const Config config = small();
  const Deployment& deployment = config.fleet.deployments[0];
  // 206,141,652,992 B of HBM less 8 GiB of reserve and 16 GB of weights
  EXPECT_EQ(deployment.capacity.kv_pool, Bytes{206'141'652'992 - 8 * kGibibyte - 16'000'000'000});
  EXPECT_EQ(deployment.context_limit, Tokens{131072});
  EXPECT_GT(deployment.speed.step_floor, 0);
}

TEST(Config, HasTheStudysClassesWhereNoneAreGiven) {
  const auto classes = small().fleet.classes;
  ASSERT_EQ(classes.size(), 3u);
  EXPECT_EQ(classes[0].name, "interactive");
  EXPECT_EQ(classes[0].ttft_target({1000}), Seconds{1.2});
  EXPECT_EQ(classes[0].tpot, Seconds{0.04});
  EXPECT_EQ(classes[1].ttft_target({1000}), Seconds{3.4});
  EXPECT_EQ(classes[1].miss, Usd{0.01});
  EXPECT_EQ(classes[2].deadline, Seconds{300});
  EXPECT_EQ(classes[2].ttft, std::nullopt);
}

TEST(Config, ReadsJsonToo) {
  const std::string json =
      R"({"models": [{"name": "m", "total_parameters": 1000, "active_parameters": 1000, "layers": 1,
      "hidden_size": 8, "kv_heads": 1, "kv_per_token": "1KiB", "attention_flops_per_pair": 64,
      "context_limit": 100}],
    "deployments": [{"name": "d", "model": "m", "device": "B200", "format": "bf16", "weights": "2kB"}],
    "pools": [{"name": "p", "device": "B200", "capacity": "spot", "usd_per_device_hour": 4.25, "replicas": [
      {"name": "r", "engine": "llamacpp", "endpoint": "http://[::1]:8080", "deployment": "d"}]}],
    "listen": "[::1]:80",
    "tenants": [{"name": "t", "keys": [{"id": "k", "default_class": "batch",
      "sha256": "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"}]}]})";
  const Config config = parse_config(json, "test.json");
  EXPECT_EQ(config.access[0].endpoint.host, "::1");
  EXPECT_EQ(config.keys[0].sha256, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
}

TEST(Config, ReadsPriceStepsInOrder) {
  const auto with_schedule = [](std::string_view first, std::string_view second) {
    return replaced(small_config(), "    usd_per_device_hour: 2.50\n",
                    std::string("    usd_per_device_hour:\n      - {from: \"") + std::string(first) +
                        "\", usd_per_device_hour: 3}\n      - {from: \"" + std::string(second) +
                        "\", usd_per_device_hour: 2.000000001}\n");
  };
  const Config config =
      parse_config(with_schedule("2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z"), "test.yaml");
  ASSERT_EQ(config.price_schedules.size(), 1u);
  ASSERT_EQ(config.price_schedules[0].size(), 2u);
  EXPECT_EQ(config.price_schedules[0][1].per_device_hour, NanoUsdPerHour{2'000'000'001});
  EXPECT_EQ(config.price_schedules[0][1].from, WallTime{std::chrono::sys_days{std::chrono::July / 1 / 2026}});
  EXPECT_EQ(config.fleet.pools[0].per_device_hour, NanoUsdPerHour{3'000'000'000});
  EXPECT_THAT(error_of(with_schedule("2026-07-01T00:00:00Z", "2026-07-01T00:00:00Z")),
              HasSubstr("usd_per_device_hour[1].from: is not after the step before it"));
}

TEST(Config, TakesMeasuredSpeedOverTheRoofline) {
  const double estimated = small().fleet.deployments[0].speed.per_sequence;
  const auto text = replaced(small_config(), "    weights: 16GB\n",
                             "    weights: 16GB\n    speed: {step_floor: 12.5ms, per_prompt_pair: 0.5ns}\n");
  const SpeedProfile speed = parse_config(text, "test.yaml").fleet.deployments[0].speed;
  EXPECT_EQ(speed.step_floor, 0.0125);
  EXPECT_EQ(speed.per_prompt_pair, 0.5e-9);
  EXPECT_EQ(speed.per_sequence, estimated);
}

TEST(Config, ChangesAKnownDeviceAndAddsANewOne) {
  const auto text = small_config() + R"(devices:
  - {name: MI300X, hbm: 100GiB}
  - {name: Tiny, hbm: 24GiB, hbm_bandwidth: 300GB/s, bandwidth_efficiency: 0.8, bf16_flops: 121TFLOPS,
     compute_efficiency: 0.5, link_bandwidth: 32GB/s, collective_latency: 20us, layer_overhead: 0us}
)";
  const Config config = parse_config(text, "test.yaml");
  const auto device = [&](std::string_view name) {
    return *std::ranges::find(config.fleet.devices, name, &Device::name);
  };
  EXPECT_EQ(device("MI300X").hbm, Bytes{100 * kGibibyte});
  EXPECT_EQ(device("MI300X").hbm_bandwidth, BytesPerSecond{5.3e12});
  EXPECT_EQ(device("Tiny").bf16_flops, FlopsPerSecond{121e12});
  EXPECT_EQ(device("B300").name, "B300");
  EXPECT_EQ(config.fleet.devices.size(), catalogue_devices().size() + 1);
  EXPECT_EQ(config.fleet.deployments[0].capacity.kv_pool, Bytes{92 * kGibibyte - 16'000'000'000});
}

TEST(Config, RefusesAnIncompleteNewDevice) {
  const auto error = error_of(small_config() + "devices:\n  - {name: Tiny, hbm: 24GiB, fp8_dialect: ocp}\n");
  EXPECT_THAT(error, AllOf(HasSubstr("devices[0].hbm_bandwidth: is missing"),
                           HasSubstr("devices[0].layer_overhead: is missing"), Not(HasSubstr("fp8_flops"))));
}

TEST(Config, ReportsEveryProblemInTheOrderOfLines) {
  std::string text = replaced(small_config(), "kv_heads: 8", "kv_hedas: 8");
  text = replaced(std::move(text), "weights: 16GB", "weights: 16");
  text = replaced(std::move(text), "vllm", "vlm");
  text = replaced(std::move(text), "default_class: standard", "default_class: standrad");
  try {
    parse_config(text, "fleet.yaml");
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.file(), "fleet.yaml");
    std::vector<std::string> found;
    for (const auto& problem : error.problems())
      found.push_back(std::to_string(problem.line) + " " + problem.path);
    EXPECT_THAT(found,
                ElementsAre("3 models[0].kv_heads", "8 models[0].kv_hedas", "17 deployments[0].weights",
                            "24 pools[0].replicas[0].engine", "30 tenants[0].keys[0].default_class"));
    EXPECT_STREQ(
        error.what(),
        "fleet.yaml:3: models[0].kv_heads: is missing; it has no default\n"
        "fleet.yaml:8: models[0].kv_hedas: unknown key; did you mean \"kv_heads\"?\n"
        "fleet.yaml:17: deployments[0].weights: \"16\" has no unit; write a number and one of B, kB, MB, GB, "
        "TB, KiB, MiB, GiB, TiB, as \"192GiB\"\n"
        "fleet.yaml:24: pools[0].replicas[0].engine: \"vlm\" is no engine; known: vllm, llamacpp\n"
        "fleet.yaml:30: tenants[0].keys[0].default_class: no class is named \"standrad\"; did you mean "
        "\"standard\"?");
  }
}

TEST(Config, RefusesAKeyGivenTwice) {
  EXPECT_THAT(error_with("    layers: 32\n", "    layers: 32\n    layers: 33\n"),
              StrEq("test.yaml:7: models[0].layers: is given twice, first on line 6; keep one"));
  EXPECT_THAT(error_of(small_config() + "listen: \"127.0.0.1:1\"\n"),
              HasSubstr("test.yaml:31: listen: is given twice, first on line 1"));
}

TEST(Config, ListsKnownKeysWhereNoneIsClose) {
  EXPECT_THAT(error_of(small_config() + "colour: red\n"),
              HasSubstr("colour: unknown key; known: listen, admin"));
  EXPECT_THAT(error_of(small_config() + "<<: {a: 1}\n"), HasSubstr("merge keys are not supported"));
}

TEST(Config, ExplainsAKeyThatIsMissing) {
  EXPECT_THAT(error_with("    layers: 32\n", ""),
              StrEq("test.yaml:3: models[0].layers: is missing; it has no default"));
  EXPECT_THAT(error_with("    capacity: on_demand\n", ""), HasSubstr("pools[0].capacity: is missing"));
  EXPECT_THAT(error_of("listen: \"a:1\"\n"),
              AllOf(HasSubstr("deployments: is missing"), HasSubstr("pools: is missing"),
                    HasSubstr("tenants: is missing")));
}

struct Wrong {
  const char* piece;
  const char* replacement;
  const char* expected;
};
void PrintTo(const Wrong& wrong, std::ostream* out) {
  *out << wrong.replacement;
}

class WrongValue : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongValue, IsReportedOnceWithItsPlaceAndRemedy) {
  const auto& [piece, replacement, expected] = GetParam();
  const std::string error = error_with(piece, replacement);
  EXPECT_THAT(error, HasSubstr(expected));
  EXPECT_EQ(std::ranges::count(error, '\n'), 0) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Types, WrongValue,
    ::testing::Values(
        Wrong{"layers: 32", "layers: \"32\"", "layers: \"32\" is text where a whole number is needed"},
        Wrong{"layers: 32", "layers: 32.5", "layers: \"32.5\" is no whole number"},
        Wrong{"layers: 32", "layers: 0x20", "layers: \"0x20\" is no whole number"},
        Wrong{"layers: 32", "layers: [32]", "layers: must be a single value, not a list"},
        Wrong{"layers: 32", "layers: {a: 1}", "layers: must be a single value, not keys and values"},
        Wrong{"layers: 32", "layers:", "layers: has no value"},
        Wrong{"layers: 32", "layers: \"\"", "layers: is empty"},
        Wrong{"layers: 32", "layers: 99999999999999999999", "is out of range"},
        Wrong{"name: product\n", "name: \"two words\"\n", "tenants[0].name: \"two words\" is no name"},
        Wrong{"name: product\n", "name: \"a\\nb\"\n", "tenants[0].name: \"a?b\" is no name"},
        Wrong{"listen: \"127.0.0.1:0\"", "limits: 3", "limits: must hold keys and values"},
        Wrong{"listen: \"127.0.0.1:0\"", "limits: {max_attempts: 0}",
              "limits.max_attempts: \"0\" is out of range"},
        Wrong{"listen: \"127.0.0.1:0\"", "limits: {idle_timeout: 0s}",
              "limits.idle_timeout: must be more than zero"},
        Wrong{"listen: \"127.0.0.1:0\"", "limits: {idle_timeout: 25h}",
              "limits.idle_timeout: must be at most 24h"},
        Wrong{"listen: \"127.0.0.1:0\"", "limits: {idle_timeout: 30}", "\"30\" has no unit"},
        Wrong{"listen: \"127.0.0.1:0\"", "limits: {idle_timeot: 30s}", "did you mean \"idle_timeout\"?"},
        Wrong{"listen: \"127.0.0.1:0\"", "queue: {max_requests: -1}", "queue.max_requests: \"-1\""},
        Wrong{"listen: \"127.0.0.1:0\"", "queue: {max_wait: 0s}", "queue.max_wait: must be more than zero"},
        Wrong{"listen: \"127.0.0.1:0\"", "queue: {max_bytes: 1MiB}",
              "queue.max_bytes: is less than limits.max_body_bytes"},
        Wrong{"listen: \"127.0.0.1:0\"", "emulator: {time_scale: .nan}", "is no plain decimal number"},
        Wrong{"listen: \"127.0.0.1:0\"", "emulator: {time_scale: -1}", "is no plain decimal number"},
        Wrong{"listen: \"127.0.0.1:0\"", "emulator: {time_scale: 0}",
              "emulator.time_scale: must be more than zero"},
        Wrong{"listen: \"127.0.0.1:0\"", "ledger: {}", "ledger.file: is missing"},
        Wrong{"listen: \"127.0.0.1:0\"", "listen: \"127.0.0.1:70000\"",
              "listen: has a port that is no number"},
        Wrong{"listen: \"127.0.0.1:0\"", "listen: 8080", "listen: has no port"},
        Wrong{"listen: \"127.0.0.1:0\"", "listen: \"LOCALHOST:1\"\nadmin: \"localhost:1\"",
              "admin: is the address"},
        Wrong{"listen: \"127.0.0.1:0\"", "classes: []", "classes: is an empty list"},
        Wrong{"listen: \"127.0.0.1:0\"", "devices: MI300X", "devices: must be a list"},
        Wrong{"listen: \"127.0.0.1:0\"", "devices: [{name: MI300X, bandwidth_efficiency: 1.1}]",
              "must be at most 1"},
        Wrong{"listen: \"127.0.0.1:0\"", "devices: [{name: MI300X, native_mxfp4: yes}]",
              "neither true nor false"},
        Wrong{"listen: \"127.0.0.1:0\"", "devices: [{name: MI300X, fp8_dialect: none}]", "belong together"}));

INSTANTIATE_TEST_SUITE_P(
    Models, WrongValue,
    ::testing::Values(
        Wrong{"active_parameters: 8000000000", "active_parameters: 8000000001",
              "is more than total_parameters"},
        Wrong{"layers: 32", "layers: 32\n    experts: 8", "experts_per_token"},
        Wrong{"layers: 32", "layers: 32\n    experts: 8\n    experts_per_token: 8",
              "from 1 to one less than experts"},
        Wrong{"layers: 32", "layers: 32\n    experts_per_token: 8", "needs experts"},
        Wrong{"kv_per_token: 128KiB", "kv_per_token: 0B", "kv_per_token: must be more than zero"},
        Wrong{"kv_per_token: 128KiB", "kv_per_token: 1GiB", "kv_per_token: must be at most 64MiB"},
        Wrong{"context_limit: 131072", "context_limit: 0", "context_limit: \"0\" is out of range"},
        Wrong{"layers: 32", "layers: 32\n    list_price: {input: -1, cached: 0, output: 1}",
              "is no amount of dollars"},
        Wrong{"layers: 32", "layers: 32\n    list_price: {input: 1, output: 1}",
              "list_price.cached: is missing"}));

INSTANTIATE_TEST_SUITE_P(
    Deployments, WrongValue,
    ::testing::Values(
        Wrong{"model: llama\n", "model: lama\n", "no model is named \"lama\"; did you mean \"llama\"?"},
        Wrong{"device: MI300X\n    format", "device: MI200X\n    format", "did you mean \"MI300X\"?"},
        Wrong{"format: bf16", "format: fp16", "is none of bf16, fp8"},
        Wrong{"format: bf16", "format: nvfp4", "MI300X cannot run a nvfp4 checkpoint"},
        Wrong{"format: bf16", "format: bf16\n    parallelism: {tp: 0}",
              "parallelism.tp: \"0\" is out of range"},
        Wrong{"format: bf16", "format: bf16\n    parallelism: {tp: 1024, dp: 2}",
              "tp x pp x dp is 2048 devices"},
        Wrong{"format: bf16", "format: bf16\n    parallelism: {tp: 8, ep: 8}",
              "llama has no experts to spread"},
        Wrong{"format: bf16", "format: bf16\n    parallelism: {tp: 8, dcp: 2}", "does not make 2 copies"},
        Wrong{"format: bf16", "format: bf16\n    context_limit: 200000",
              "131072 tokens that the model allows"},
        Wrong{"format: bf16", "format: bf16\n    seats: 0", "seats: \"0\" is out of range"},
        Wrong{"format: bf16", "format: bf16\n    speed: {step_floor: 12}",
              "speed.step_floor: \"12\" has no unit"},
        Wrong{"format: bf16", "format: bf16\n    speed: {step_flor: 12ms}", "did you mean \"step_floor\"?"},
        Wrong{"format: bf16", "format: bf16\n    speed: {step_floor: 0ms}",
              "step_floor: must be more than zero"},
        // 206,141,652,992 B - 8 GiB = 183.98 GiB
        Wrong{"weights: 16GB", "weights: 200GiB", "do not fit 1 x MI300X: 16.0 GiB too much"},
        Wrong{"weights: 16GB", "weights: 197551718400B", "leave 0.0 GiB of 1 x MI300X for KV cache"}));

INSTANTIATE_TEST_SUITE_P(
    Pools, WrongValue,
    ::testing::Values(
        Wrong{"capacity: on_demand", "capacity: ondemand", "is none of reserved, on_demand, spot"},
        Wrong{"hour: 2.50", "hour: 0", "must be more than zero"},
        Wrong{"hour: 2.50", "hour: -2.50", "is no amount of dollars"},
        Wrong{"hour: 2.50", "hour: $2.50", "is no amount of dollars"},
        Wrong{"hour: 2.50", "hour: 1e3", "is no amount of dollars"},
        Wrong{"hour: 2.50", "hour: .inf", "is no amount of dollars"},
        Wrong{"hour: 2.50", "hour: 2000000", "more than a million dollars"},
        Wrong{"hour: 2.50", "hour: []", "usd_per_device_hour: is an empty list"},
        Wrong{"hour: 2.50", "hour: [{from: \"2026\", usd_per_device_hour: 1}]", "is no RFC 3339 time"},
        Wrong{"device: MI300X\n    capacity", "device: B200\n    capacity",
              "\"llama-mi300x\" is for MI300X, but this pool has B200"},
        Wrong{"deployment: llama-mi300x", "deployment: llama-b200", "no deployment is named \"llama-b200\""},
        Wrong{"http://10.0.0.1:8000", "http://10.0.0.1:65536", "endpoint: has a port"},
        Wrong{"http://10.0.0.1:8000", "ftp://10.0.0.1:8000", "endpoint: must start with http:// or https://"},
        Wrong{"    replicas:\n", "    tls: {ca: ca.pem}\n    replicas:\n",
              "pools[0].tls: has no effect: no endpoint of this pool starts with https://"},
        Wrong{"    replicas:\n", "    tls: {certificate: a.pem}\n    replicas:\n",
              "pools[0].tls: certificate and key belong together"},
        Wrong{"http://10.0.0.1:8000", "http://127.0.0.1:9090", "is this router's own address"}));

INSTANTIATE_TEST_SUITE_P(
    Tenants, WrongValue,
    ::testing::Values(
        Wrong{"  - name: product\n", "  - name: product\n    models: [gpt]\n",
              "models[0]: no model is named \"gpt\""},
        Wrong{"  - name: product\n", "  - name: product\n    models: []\n", "models: is an empty list"},
        Wrong{"  - name: product\n", "  - name: product\n    regions: [moon]\n",
              "no pool is in region \"moon\""},
        Wrong{"  - name: product\n", "  - name: product\n    max_usd_per_device_hour: 0\n", "more than zero"},
        Wrong{"id: web", "id: \"the web\"", "id: \"the web\" is no name"}));

INSTANTIATE_TEST_SUITE_P(
    Classes, WrongValue,
    ::testing::Values(Wrong{"listen: \"127.0.0.1:0\"", "classes: [{name: standard, miss_usd: 0.1}]",
                            "has no target"},
                      Wrong{"listen: \"127.0.0.1:0\"", "classes: [{name: standard, tpot: 1s, miss_usd: 0}]",
                            "more than zero"},
                      Wrong{"listen: \"127.0.0.1:0\"", "classes: [{name: standard, tpot: 0s, miss_usd: 1}]",
                            "more than zero"},
                      Wrong{"listen: \"127.0.0.1:0\"",
                            "classes: [{name: standard, tpot: 1s, ttft_per_prompt_token: 1ms, miss_usd: 1}]",
                            "give ttft too"},
                      Wrong{"listen: \"127.0.0.1:0\"", "classes: [{name: standrd, tpot: 1s, miss_usd: 1}]",
                            "did you mean \"standrd\"?"}));

TEST(Config, RefusesNamesKeysAndEndpointsThatAreUsedTwice) {
  const std::string replica =
      "      - {name: west-1, engine: vllm, endpoint: \"http://10.0.0.1:8000\", deployment: llama-mi300x}\n";
  EXPECT_THAT(
      error_with(replica, replica + replica),
      AllOf(
          HasSubstr("test.yaml:25: pools[0].replicas[1].endpoint: is the endpoint of replica \"west-1\" too"),
          HasSubstr("pools[0].replicas[1].name: a second replica is called \"west-1\"")));
  EXPECT_THAT(error_of(small_config() + R"(  - name: product
    keys:
      - id: web
        sha256: 0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef
        default_class: batch
)"),
              AllOf(HasSubstr("tenants[1].name: a second tenant is called \"product\""),
                    HasSubstr("tenants[1].keys[0].id: a second key is called \"web\""),
                    HasSubstr("tenants[1].keys[0].sha256: is the same key as \"web\"")));
}

TEST(Config, RefusesAPoolWithoutReplicasAndATenantWithoutKeys) {
  const auto no_replicas = replaced(
      small_config(),
      "    replicas:\n      - {name: west-1, engine: vllm, endpoint: \"http://10.0.0.1:8000\", deployment: "
      "llama-mi300x}\n",
      "");
  EXPECT_THAT(error_of(no_replicas), HasSubstr("pools[0].replicas: is missing"));
  EXPECT_THAT(error_of(small_config() + "  - {name: research, keys: []}\n"),
              HasSubstr("tenants[1].keys: is an empty list"));
}

TEST(Config, DoesNotBlameAReferenceForTheFaultOfWhatItNames) {
  const std::string error = error_with("kv_heads: 8", "kv_heads: eight");
  EXPECT_THAT(error,
              StrEq("test.yaml:8: models[0].kv_heads: \"eight\" is no whole number; write digits only"));
}

TEST(Config, NeverRepeatsASecretThatStandsInTheWrongPlace) {
  const std::string hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  EXPECT_THAT(error_with(hash, "sk-secret"),
              AllOf(HasSubstr("sha256: must be"), Not(HasSubstr("sk-secret"))));
  EXPECT_THAT(error_with("http://10.0.0.1:8000", "http://user:secret@10.0.0.1:8000"),
              AllOf(HasSubstr("must not hold a user name or password"), Not(HasSubstr("secret"))));
  for (const char* value : {"sk-secret", "secret0123"}) {
    EXPECT_THAT(error_with("deployment: llama-mi300x}",
                           std::string("deployment: llama-mi300x, api_key_env: ") + value + "}"),
                AllOf(HasSubstr("api_key_env: "), Not(HasSubstr("secret"))));
  }
}

TEST(Config, ReadsAnEnginesKeyFromTheEnvironment) {
  const auto text = replaced(small_config(), "deployment: llama-mi300x}",
                             "deployment: llama-mi300x, api_key_env: FAREWAY_TEST_ENGINE_KEY}");
  ::setenv("FAREWAY_TEST_ENGINE_KEY", "sk-engine", 1);
  EXPECT_EQ(parse_config(text, "test.yaml").access[0].endpoint.api_key, "sk-engine");
  ::setenv("FAREWAY_TEST_ENGINE_KEY", "sk\r\nHost: evil", 1);
  EXPECT_THAT(error_of(text), AllOf(HasSubstr("control characters"), Not(HasSubstr("evil"))));
  ::unsetenv("FAREWAY_TEST_ENGINE_KEY");
  EXPECT_THAT(error_of(text), HasSubstr("api_key_env: the environment variable named here is not set"));
}

TEST(Config, WarnsOfWhatIsAllowedAndProbablyNotMeant) {
  EXPECT_THAT(config_warnings(small()),
              ElementsAre(HasSubstr("only known from data sheets"), HasSubstr("model llama: no list_price")));

  std::string text = replaced(small_config(), "format: bf16", "format: mxfp4");
  text = replaced(std::move(text), "listen: \"127.0.0.1:0\"",
                  "admin: \"0.0.0.0:9090\"\nlimits: {upstream_idle: 5s}");
  text = replaced(std::move(text), "pools:\n",
                  "  - {name: spare, model: llama, device: B200, format: bf16, weights: 16GB}\npools:\n");
  EXPECT_THAT(config_warnings(parse_config(text, "test.yaml")),
              ElementsAre(HasSubstr("llama-mi300x: mxfp4 is emulated"), HasSubstr("data sheets"),
                          HasSubstr("spare: no replica runs it"), HasSubstr("no list_price"),
                          HasSubstr("can be reached from other hosts"), HasSubstr("upstream_idle")));
}

TEST(LoadConfig, ReadsAFileAndSaysWhyItCannot) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "fareway_load_config";
  std::filesystem::create_directories(folder);
  const auto file = folder / "small.yaml";
  std::ofstream(file) << small_config();
  EXPECT_EQ(load_config(file).fleet.replicas.size(), 1u);

  const auto error_of_file = [](const std::filesystem::path& path) {
    try {
      load_config(path);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of_file(folder / "none.yaml"),
            (folder / "none.yaml").string() + ": does not exist; name the configuration file");
  EXPECT_THAT(error_of_file(folder), HasSubstr("is a directory"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fareway
