#include "placement/catalogue/acceptance.hpp"

#include <algorithm>
#include <array>

namespace fareway {
namespace {

// SemiAnalysisAI/InferenceX at 843c6254, golden_al_distribution/*.yaml (Apache-2.0): coding prompts, one to
// eight drafted tokens. MTP and EAGLE-3 draft with one layer, once for each token; DSpark's draft has five
// layers and proposes a block at once (aiconfigurator pull request 1435).
using Lengths = std::array<double, 8>;
constexpr Lengths kV4ProDspark{1.84, 2.51, 3.01, 3.36, 3.61, 3.77, 3.73, 3.47};
constexpr Lengths kV4ProMtp{1.79, 2.27, 2.49, 2.54, 2.55, 2.55, 2.54, 2.58};
constexpr Lengths kV4ProMtpDirect{1.92, 2.61, 2.97, 3.00, 3.10, 3.16, 3.00, 3.11};
constexpr Lengths kGlmMtp{1.84, 2.50, 2.99, 3.33, 3.61, 3.78, 3.91, 4.06};
constexpr Lengths kKimiK25Eagle{1.83, 2.43, 2.88, 3.24, 3.46, 3.62, 3.71, 3.77};
constexpr Lengths kKimiK25EagleDirect{1.80, 2.33, 2.75, 3.06, 3.25, 3.43, 3.46, 3.51};
constexpr Lengths kKimiK3Dspark{1.84, 2.45, 2.87, 3.22, 3.44, 3.54, 3.78, 3.88};
constexpr Lengths kKimiK3DsparkBlock{1.85, 2.51, 3.00, 3.36, 3.62, 3.75, 3.84, 4.00};
constexpr Lengths kMiniMaxM3Eagle{1.78, 2.38, 2.83, 3.11, 3.35, 3.45, 3.53, 3.74};
constexpr Lengths kMiniMaxM3EagleDirect{1.84, 2.52, 2.93, 3.41, 3.59, 3.57, 3.85, 4.06};
constexpr Lengths kQwen35Mtp{1.93, 2.73, 3.39, 3.97, 4.41, 4.80, 5.04, 5.21};
constexpr Lengths kQwen35MtpDirect{1.92, 2.70, 3.33, 3.83, 4.20, 4.48, 4.73, 4.71};

constexpr std::array kTables{
    AcceptanceTable{"DeepSeek-V4-Pro", "dspark", "thinking", 5, true, kV4ProDspark},
    AcceptanceTable{"DeepSeek-V4-Pro", "mtp", "thinking", 1, false, kV4ProMtp},
    AcceptanceTable{"DeepSeek-V4-Pro", "mtp", "no thinking", 1, false, kV4ProMtpDirect},
    AcceptanceTable{"GLM-5.2", "mtp", "thinking", 1, false, kGlmMtp},
    AcceptanceTable{"Kimi-K2.5", "eagle3", "thinking", 1, false, kKimiK25Eagle},
    AcceptanceTable{"Kimi-K2.5", "eagle3", "no thinking", 1, false, kKimiK25EagleDirect},
    AcceptanceTable{"Kimi-K3", "dspark", "thinking", 5, true, kKimiK3Dspark},
    AcceptanceTable{"Kimi-K3", "dspark-block", "thinking", 5, true, kKimiK3DsparkBlock},
    AcceptanceTable{"MiniMax-M3", "eagle3", "thinking", 1, false, kMiniMaxM3Eagle},
    AcceptanceTable{"MiniMax-M3", "eagle3", "no thinking", 1, false, kMiniMaxM3EagleDirect},
    AcceptanceTable{"Qwen3.5-397B-A17B", "mtp", "thinking", 1, false, kQwen35Mtp},
    AcceptanceTable{"Qwen3.5-397B-A17B", "mtp", "no thinking", 1, false, kQwen35MtpDirect}};

}  // namespace

std::span<const AcceptanceTable> acceptance_tables() {
  return kTables;
}

const AcceptanceTable* find_acceptance(std::string_view model, std::string_view method) {
  const auto found = std::ranges::find_if(
      kTables, [&](const AcceptanceTable& table) { return table.model == model && table.method == method; });
  return found == kTables.end() ? nullptr : &*found;
}

}  // namespace fareway
