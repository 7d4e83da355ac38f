// Every entry of the catalogue against the reference data it restates. The data is not part of the
// repository: its folder is named by FAREWAY_SHARED, or lies beside the checkout; without it these tests
// skip.

#include "placement/catalogue/catalogue.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fareway {
namespace {

using Row = std::map<std::string, std::string>;

std::filesystem::path shared_data() {
  const char* given = std::getenv("FAREWAY_SHARED");
  return (given != nullptr ? std::filesystem::path{given}
                           : std::filesystem::path{FAREWAY_SOURCE_DIR "/../shared"}) /
         "data";
}

/// One line of CSV with quoted fields; no field of these files holds a line break.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      all.emplace_back();
    } else if (c != '\r') {
      all.back() += c;
    }
  }
  return all;
}

std::vector<Row> read_csv(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> keys = fields(line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> values = fields(line);
    Row row;
    for (std::size_t i = 0; i < keys.size() && i < values.size(); ++i) row[keys[i]] = values[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

double number(const Row& row, const std::string& key) {
  const std::string& text = row.at(key);
  return text.empty() ? 0 : std::stod(text);
}

TEST(Catalogue, StatesEveryDeviceAsTheReferenceDataDoes) {
  const auto file = shared_data() / "devices/devices.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const std::vector<Row> rows = read_csv(file);
  EXPECT_EQ(rows.size(), catalogue_devices().size());
  for (const Row& row : rows) {
    SCOPED_TRACE(row.at("device"));
    const Device* device = find_device(row.at("device"));
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(device->arch, row.at("gfx_or_sm"));
    EXPECT_EQ(device->vendor, row.at("vendor") == "AMD" ? Vendor::kAmd : Vendor::kNvidia);
    EXPECT_EQ(device->hbm_nominal->value,
              static_cast<std::int64_t>(number(row, "hbm_nominal_gb")) * 1'000'000'000);
    EXPECT_EQ(std::to_string(device->hbm.value), row.at("hbm_runtime_bytes"));
    EXPECT_DOUBLE_EQ(device->hbm_bandwidth.value, number(row, "hbm_tbps") * 1e12);
    EXPECT_DOUBLE_EQ(device->bf16_flops.value, number(row, "bf16_dense_tflops") * 1e12);
    EXPECT_DOUBLE_EQ(device->fp8_flops.value, number(row, "fp8_dense_tflops") * 1e12);
    EXPECT_DOUBLE_EQ(device->fp4_flops.value, number(row, "fp4_dense_tflops") * 1e12);
    const std::string dialect = row.at("fp8_dialect").substr(0, 4);
    EXPECT_EQ(device->fp8_dialect, dialect == "OCP "   ? Fp8Dialect::kOcp
                                   : dialect == "FNUZ" ? Fp8Dialect::kFnuz
                                                       : Fp8Dialect::kNone);
    EXPECT_EQ(device->native_mxfp4, row.at("native_mx_fp4") == "1");
    EXPECT_DOUBLE_EQ(device->link_bandwidth.value, number(row, "scaleup_gbps_unidir_per_gpu") * 1e9);
    EXPECT_EQ(device->scale_up_world, number(row, "scaleup_world"));
    EXPECT_DOUBLE_EQ(device->group_bandwidth(2).value,
                     device->scale_up_world < 2 ? device->link_bandwidth.value
                                                : number(row, "scaleup_pairwise_gbps_unidir") * 1e9);
    EXPECT_EQ(device->link_topology == LinkTopology::kMesh,
              row.at("scaleup_topology").starts_with("full mesh"));
    EXPECT_EQ(device->scale_out_bandwidth.has_value(), !row.at("scaleout_gbit_per_gpu").empty());
    if (!device->scale_out_bandwidth) continue;
    EXPECT_DOUBLE_EQ(device->scale_out_bandwidth->value, number(row, "scaleout_gbit_per_gpu") * 1e9 / 8);
  }
}

TEST(Catalogue, TakesCopyAndMatrixEfficienciesFromTheMeasurements) {
  const auto file = shared_data() / "devices/measured_efficiency.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  std::map<std::string, std::map<std::string, double>> measured;
  for (const Row& row : read_csv(file))
    measured[row.at("device")][row.at("metric")] = number(row, "fraction_of_peak");
  for (const Device& device : catalogue_devices()) {
    SCOPED_TRACE(device.name);
    const auto known =
        std::ranges::find_if(measured, [&](const auto& each) { return find_device(each.first) == &device; });
    EXPECT_EQ(device.efficiencies_measured, known != measured.end());
    if (known == measured.end()) continue;
    const auto& metrics = known->second;
    EXPECT_DOUBLE_EQ(device.bandwidth_efficiency, metrics.at("HBM copy"));
    const auto gemm = metrics.find("fp8 GEMM 16384^3");
    EXPECT_DOUBLE_EQ(device.compute_efficiency,
                     gemm != metrics.end() ? gemm->second : metrics.at("fp8 GEMM 8192^3"));
    const auto attention = metrics.find("FlashAttention-2");
    EXPECT_EQ(device.attention_efficiency,
              attention == metrics.end() ? std::nullopt : std::optional{attention->second});
  }
}

TEST(Catalogue, TakesItsAllReducesFromTheFits) {
  const auto file = shared_data() / "bench/collective_alpha_beta_fit.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const std::map<std::string, std::pair<std::string, std::string>> kernels{
      {"a100_sxm", {"A100", "eager"}},
      {"h100_sxm", {"H100", "vLLM_custom_graph"}},
      {"h200_sxm", {"H200", "vLLM_custom_graph"}},
      {"b200_sxm", {"B200", "vLLM_custom_graph"}},
      {"b300_sxm", {"B300", "vLLM_custom_graph"}},
      {"gb200", {"GB200", "vLLM_custom_graph"}},
      {"gb300", {"GB300", "vLLM_custom_graph"}},
      {"l40s", {"L40S", "SGLang_CustomAllReduce_graph"}}};
  int compared = 0;
  for (const Row& row : read_csv(file)) {
    const auto system = kernels.find(row.at("system"));
    if (row.at("op") != "all_reduce" || system == kernels.end() || row.at("kernel") != system->second.second)
      continue;
    SCOPED_TRACE(row.at("system") + " x " + row.at("num_gpus"));
    const auto devices = static_cast<std::uint32_t>(number(row, "num_gpus"));
    const AllReduce fit = find_device(system->second.first)->all_reduce(devices);
    EXPECT_EQ(fit.devices, devices);
    EXPECT_DOUBLE_EQ(fit.latency.count(), number(row, "alpha_us") * 1e-6);
    EXPECT_DOUBLE_EQ(fit.bus_bandwidth.value, number(row, "busbw_GBps_fit") * 1e9);
    ++compared;
  }
  EXPECT_EQ(compared, 22);
}

/// What both the catalogue and the reference data say of one model.
nlohmann::ordered_json facts(const Model& model) {
  const auto weights = [&](NumberFormat format) -> nlohmann::ordered_json {
    const Checkpoint* checkpoint = model.checkpoint(format);
    return checkpoint == nullptr ? nlohmann::ordered_json("")
                                 : nlohmann::ordered_json(checkpoint->weights.value);
  };
  return {
      {"total_params", model.total_parameters},
      {"active_params", model.active_parameters},
      {"n_layers", model.layers},
      {"full_attn_layers", model.full_attention_layers},
      {"linear_attn_layers", model.linear_layers},
      {"sliding_window_layers", model.sliding_window_layers},
      {"sliding_window", model.window.value},
      {"hidden", model.hidden_size},
      {"n_heads", model.heads.value_or(0)},
      {"n_kv_heads", model.kv_heads},
      {"head_dim", model.head_dim.value_or(0)},
      {"vocab", model.vocabulary.value_or(0)},
      {"max_context", model.context_limit.value},
      {"n_experts", model.experts},
      {"experts_per_token", model.experts_per_token},
      {"n_shared_experts", model.shared_experts},
      {"kv_bytes_per_token_bf16", model.kv_per_token.value},
      {"kv_bytes_per_token_fp8", model.kv_per_token_fp8.value_or(Bytes{model.kv_per_token.value / 2}).value},
      {"window_kv_bytes_per_seq_bf16", model.window_kv_per_token.value * model.window.value},
      {"linear_state_bytes_per_seq_fp32", (model.state_per_sequence - model.conv_state).value},
      {"conv_state_bytes_per_seq_bf16", model.conv_state.value},
      {"weight_bytes_bf16", weights(NumberFormat::kBf16)},
      {"weight_bytes_fp8", weights(NumberFormat::kFp8)},
      {"weight_bytes_nvfp4", weights(NumberFormat::kNvfp4)},
      {"weight_bytes_mxfp4_experts_only", weights(NumberFormat::kMxfp4)}};
}

TEST(Catalogue, StatesEveryModelAsTheReferenceDataDoes) {
  const auto file = shared_data() / "models/model_facts.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  std::ifstream in(file);
  const auto reference = nlohmann::ordered_json::parse(in);
  EXPECT_EQ(reference.size(), 27U);
  for (const auto& row : reference) {
    const std::string name = row.at("name");
    SCOPED_TRACE(name);
    const Model* model = find_model(name);
    ASSERT_NE(model, nullptr);
    const auto stated = facts(*model);
    for (const auto& [key, value] : stated.items()) EXPECT_EQ(value, row.at(key)) << key;
    const std::string published = row.at("native_dtype");
    EXPECT_TRUE(published.starts_with(to_string(model->checkpoints.front().format))) << published;
    EXPECT_EQ(find_model(row.at("hf_repo").get<std::string>()), model);
  }
}

TEST(Catalogue, HoldsTheModelsThatTheReferenceDataDoesNotHave) {
  EXPECT_EQ(catalogue_models().size(), 30U);
  const Model* qwen = find_model("Qwen3.8-27B");
  ASSERT_NE(qwen, nullptr);
  EXPECT_EQ(qwen->kv_per_token * 262'144, Bytes{16 * kGibibyte});
  EXPECT_EQ(qwen->state_per_sequence, Bytes{144 * 1024 * 1024});
  const Model* kimi = find_model("kimi-k3");
  ASSERT_NE(kimi, nullptr);
  EXPECT_EQ(kimi->total_parameters, 2'800'000'000'000);
  EXPECT_GT(kimi->checkpoints.front().weights, Bytes{1'500'000'000'000});
  const Model* flash = find_model("deepseek-ai/deepseek-v4-flash");
  ASSERT_NE(flash, nullptr);
  EXPECT_EQ(flash->total_parameters, 284'000'000'000);
  EXPECT_EQ(flash->checkpoints.front().also, NumberFormat::kFp8);
}

TEST(Catalogue, FindsNamesWithoutRegardToCase) {
  EXPECT_EQ(find_device("mi300x"), find_device("MI300X"));
  EXPECT_EQ(find_device("h100-sxm"), find_device("H100"));
  EXPECT_EQ(find_model("GPT-OSS-120B")->name, "gpt-oss-120b");
  EXPECT_EQ(find_device("MI299X"), nullptr);
  EXPECT_EQ(find_model(""), nullptr);
}

TEST(Catalogue, SuggestsTheNearestName) {
  EXPECT_EQ(nearest_device_name("MI300"), "MI300X");
  EXPECT_EQ(nearest_device_name("H20O"), "H200");
  EXPECT_EQ(nearest_model_name("kimi k3"), "Kimi-K3");
  EXPECT_EQ(nearest_model_name("Qwen-3.8-27B"), "Qwen3.8-27B");
  EXPECT_EQ(nearest_device_name("TPU-v7-pod-slice"), std::nullopt);
}

TEST(Catalogue, NamesAreUniqueWhateverTheirCase) {
  for (const Device& device : catalogue_devices())
    EXPECT_EQ(find_device(device.name), &device) << device.name;
  for (const Model& model : catalogue_models()) EXPECT_EQ(find_model(model.name), &model) << model.name;
}

TEST(Catalogue, EveryModelIsWhole) {
  for (const Model& model : catalogue_models()) {
    SCOPED_TRACE(model.name);
    EXPECT_GT(model.active_parameters, 0);
    EXPECT_GE(model.total_parameters, model.active_parameters);
    EXPECT_GT(model.kv_per_token, Bytes{0});
    EXPECT_GT(model.attention_flops_per_pair, 0);
    EXPECT_GT(model.context_limit, Tokens{0});
    EXPECT_FALSE(model.checkpoints.empty());
    EXPECT_EQ(model.linear_layers > 0, model.state_per_sequence > Bytes{0});
    EXPECT_EQ(model.sliding_window_layers > 0, model.window_kv_per_token > Bytes{0});
    EXPECT_EQ(model.experts > 0, model.experts_per_token > 0);
    EXPECT_LT(model.expert_share_of_parameters(), 1.0);
    for (const Checkpoint& checkpoint : model.checkpoints) EXPECT_GT(checkpoint.weights, Bytes{0});
  }
}

}  // namespace
}  // namespace fareway
