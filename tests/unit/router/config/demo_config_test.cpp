// The figures that deploy/demo.yaml states in its comments. What the router makes of them:
// ../demo_fleet_test.cpp.

#include <algorithm>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/config/config.hpp"

namespace fareway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kDemo = FAREWAY_SOURCE_DIR "/deploy/demo.yaml";

template <class T>
std::uint32_t position(const std::vector<T>& things, std::string_view name) {
  const auto found = std::ranges::find(things, name, &T::name);
  EXPECT_NE(found, things.end()) << name;
  return static_cast<std::uint32_t>(found - things.begin());
}

const Deployment& deployment(const Fleet& fleet, std::string_view name) {
  return fleet.deployments[position(fleet.deployments, name)];
}

TEST(DemoConfig, IsSoundAndWarnsOnlyOfWhatNobodyHasMeasured) {
  EXPECT_THAT(config_warnings(load_config(kDemo)), ElementsAre(HasSubstr("only known from data sheets")));
}

TEST(DemoConfig, HoldsAsManyTokensAsItsCommentsSay) {
  const Fleet fleet = load_config(kDemo).fleet;
  EXPECT_EQ(deployment(fleet, "glm-mi300x").context_limit, Tokens{107'960});
  EXPECT_EQ(deployment(fleet, "glm-b200").context_limit, Tokens{34'316});
  EXPECT_EQ(deployment(fleet, "glm-mi355x").capacity.longest_sequence(), Tokens{655'044});
  EXPECT_EQ(deployment(fleet, "glm-b300").capacity.longest_sequence(), Tokens{544'541});
  EXPECT_EQ(deployment(fleet, "glm-b300").context_limit, Tokens{202'752});
}

TEST(DemoConfig, RunsKimiOnlyWhereFourDevicesHoldIt) {
  const Fleet fleet = load_config(kDemo).fleet;
  const Deployment& kimi = deployment(fleet, "kimi-mi355x");
  for (const Pool& pool : fleet.pools) {
    const Device& device = fleet.devices[position(fleet.devices, pool.device)];
    const Capacity capacity =
        capacity_of(fleet[kimi.model], device, kimi.parallelism,
                    {.weights = kimi.weights, .reserve_per_device = Bytes{8 * kGibibyte}});
    const bool large = device.name == "MI355X" || device.name == "B300";
    EXPECT_EQ(capacity.kv_pool.value > 0, large) << device.name;
  }
}

TEST(DemoConfig, HasAnInteractiveTargetBetweenOneMi300xAndAPair) {
  const Fleet fleet = load_config(kDemo).fleet;
  const Seconds target = *fleet.classes[position(fleet.classes, "interactive")].tpot;
  EXPECT_NEAR(deployment(fleet, "qwen-tp1").speed.step(1, 4096).count(), 0.0173, 5e-5);
  EXPECT_NEAR(deployment(fleet, "qwen-tp2").speed.step(1, 4096).count(), 0.0120, 5e-5);
  EXPECT_LT(deployment(fleet, "qwen-tp2").speed.step(1, 4096), target);
  EXPECT_GT(deployment(fleet, "qwen-tp1").speed.step(1, 4096), target);
}

TEST(DemoConfig, KnowsTheDemoKeysByTheirHashes) {
  const Config config = load_config(kDemo);
  const auto class_of = [&](std::string_view sha256) {
    const auto key = std::ranges::find(config.keys, sha256, &ApiKey::sha256);
    return key == config.keys.end() ? "no such key" : config.fleet[key->default_class].name;
  };
  // printf %s sk-demo-product | sha256sum, and so on
  EXPECT_EQ(class_of("3c24f04338c62210f463ba465be457e5386a5ac44c234e5ffec8ae22dc0bf381"), "interactive");
  EXPECT_EQ(class_of("556df7c4bcd0c781337b3dcad1ec8131cfeb417f6acf7ec293e190d6f55f0e13"), "standard");
  EXPECT_EQ(class_of("92d448a63be9c9a568164964b01661d47686e70126bb95661719899996df9837"), "batch");
}

}  // namespace
}  // namespace fareway
