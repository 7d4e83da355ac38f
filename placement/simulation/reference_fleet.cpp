#include "placement/simulation/reference_fleet.hpp"

#include <array>
#include <cmath>
#include <string>

#include "placement/simulation/workload.hpp"

namespace fareway::simulation {
namespace {

constexpr std::uint32_t kDevices = 8;
constexpr int kReplicasEach = 2;
constexpr Bytes kReserve{8 * kGibibyte};
// DeepSeek-R1 in FP8 (config.json of deepseek-ai/DeepSeek-R1): 671 B parameters, one latent of 512 + 64 bf16
// elements in each of 61 layers, which TP copies to every rank.
constexpr Bytes kWeights{672'985'186'304};
constexpr Bytes kKvPerToken{70'272};
// Beyond the 163,840 of its configuration, so that the longest prompts of the traces (191,378) have a place.
constexpr Tokens kContextLimit{200'000};
constexpr double kExpertShare = 8.0 / 256.0;

struct PoolFacts {
  const char* device;
  Bytes hbm;
  double usd_per_device_hour;
  SpeedProfile speed;
};

// Dollars: $/device-hour of the published three-pool comparison (MI355X 2.50, B300 6.00, B200 4.25), MI300X
// at 2.00. HBM: as rocm-smi and nvidia-smi report it.
//
// Speeds: non-negative least squares, robustly weighted, over InferenceX's DeepSeek-R1-0528 runs of May and
// June 2026 (FP8, TP8, SGLang, no speculation, 1k/1k, 1k/8k and 8k/1k at 1 to 64 streams), 11, 19, 17 and 19
// points. In a closed loop of b streams, TPOT = D(b, b·(in + out/2)) + (b − 1)·P(in)/out; at most four
// streams of 8k also give TTFT = D + P. Not fitted but computed: c3, a 70,272-byte latent over the bandwidth
// that kernels attain, and c5, 5.0 MFLOP a pair over the attained bf16 peak (efficiencies of
// placement/model/device.cpp). B300 has one prefill point, so its c4 is B200's. Median error of the fit 2.3,
// 2.0, 2.9 and 2.9 %, mean 6.4, 3.9, 10.1 and 11.4 % (the mean is TTFT at four streams, which queue).
constexpr std::array kPools{
    PoolFacts{"MI300X",
              {206'141'652'992},
              2.00,
              {0.01333, 0.004104, 2.798e-4, 1.711e-8, 6.122e-5, 1.08e-9, kExpertShare}},
    PoolFacts{"MI355X",
              {309'220'868'096},
              2.50,
              {0.009067, 0.0006694, 1.996e-4, 1.133e-8, 2.810e-5, 5.6e-10, kExpertShare}},
    PoolFacts{
        "B200", {192'265'846'784}, 4.25, {0.006952, 0.01274, 0, 1.093e-8, 4.178e-5, 4.02e-10, kExpertShare}},
    PoolFacts{"B300",
              {288'400'343'040},
              6.00,
              {0.006757, 0.01017, 3.036e-5, 1.086e-8, 4.178e-5, 4.02e-10, kExpertShare}}};

SpeedProfile scaled(const SpeedProfile& speed, double step, double prefill) {
  return {.step_floor = speed.step_floor * step,
          .expert_weights = speed.expert_weights * step,
          .per_sequence = speed.per_sequence * step,
          .per_context_token = speed.per_context_token * step,
          .per_prompt_token = speed.per_prompt_token * prefill,
          .per_prompt_pair = speed.per_prompt_pair * prefill,
          .expert_share = speed.expert_share};
}

/// 1 + error or 1 − error, by chance.
double off_by(double error, std::uint64_t bits) {
  return (bits & 1U) != 0 ? 1 + error : 1 - error;
}

std::vector<ServiceClass> classes() {
  return {{.name = "interactive",
           .ttft = Seconds{1},
           .ttft_per_prompt_token = Seconds{0.0002},
           .tpot = Seconds{0.040},
           .tpot_over = {50},
           .deadline = {},
           .miss = {0.02}},
          {.name = "standard",
           .ttft = Seconds{3},
           .ttft_per_prompt_token = Seconds{0.0004},
           .tpot = Seconds{0.100},
           .tpot_over = {50},
           .deadline = {},
           .miss = {0.01}},
          {.name = "batch",
           .ttft = {},
           .ttft_per_prompt_token = {},
           .tpot = {},
           .deadline = Seconds{300},
           .miss = {0.005}}};
}

Deployment deployment_of(const PoolFacts& facts, const std::string& name) {
  Deployment deployment{.name = name, .model = ModelIndex{0}};
  deployment.format = NumberFormat::kFp8;
  deployment.parallelism = {.tp = kDevices};
  deployment.weights = kWeights;
  // The latent is copied to every rank, so a token takes eight times its bytes of the group's memory.
  deployment.capacity = {.kv_pool = Bytes{kDevices * (facts.hbm - kReserve).value} - kWeights,
                         .kv_per_token = kKvPerToken * static_cast<std::int64_t>(kDevices),
                         .state_per_sequence = {}};
  deployment.context_limit = kContextLimit;
  deployment.speed = facts.speed;
  return deployment;
}

}  // namespace

ReferenceScene reference_scene(CapacityKind capacity, const SceneFaults& faults) {
  Fleet fleet;
  fleet.models.push_back({.name = "deepseek-r1", .context_limit = kContextLimit});
  fleet.classes = classes();
  fleet.tenants.push_back({.name = "tenant"});
  std::vector<std::vector<PriceStep>> schedules;
  std::vector<EngineParameters> engines;
  for (const PoolFacts& facts : kPools) {
    const PoolIndex pool{static_cast<std::uint32_t>(fleet.pools.size())};
    const NanoUsdPerHour price{std::llround(facts.usd_per_device_hour * 1e9)};
    fleet.pools.push_back({.name = facts.device,
                           .device = facts.device,
                           .region = {},
                           .capacity = capacity,
                           .per_device_hour = price});
    schedules.push_back({{.from = {}, .per_device_hour = price}});
    for (int i = 0; i < kReplicasEach; ++i) {
      const auto number = static_cast<std::uint32_t>(fleet.replicas.size());
      const std::string name = std::string(facts.device) + "-" + std::to_string(i + 1);
      Deployment deployment = deployment_of(facts, name);
      const std::int64_t kv_tokens = deployment.capacity.longest_sequence().value;
      const double slow = faults.slow_replica == static_cast<int>(number) ? faults.slowdown : 1;
      engines.push_back({.speed = scaled(facts.speed, slow, slow),
                         .seats = deployment.seats,
                         .chunk = deployment.chunk.value,
                         .kv_tokens = kv_tokens});
      const std::uint64_t bits = mixed(faults.profile_seed ^ mixed(number));
      deployment.speed =
          scaled(facts.speed, off_by(faults.profile_error, bits), off_by(faults.profile_error, bits >> 1U));
      fleet.deployments.push_back(std::move(deployment));
      Replica replica{.name = name, .pool = pool, .deployment = {number}};
      replica.health.probe_succeeded({}, {});
      fleet.replicas.push_back(std::move(replica));
      fleet.prefixes.add_replica(Tokens{kv_tokens});
    }
  }
  return {
      .fleet = std::move(fleet), .prices = PriceBook{std::move(schedules)}, .engines = std::move(engines)};
}

}  // namespace fareway::simulation
