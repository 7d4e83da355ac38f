// What a deployment's speed rests on, and what the configuration makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/speed/speed_estimate.hpp"
#include "router/config/config.hpp"
#include "tests/unit/router/config/config_text.hpp"

namespace fareway {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::replaced;
using testing::small_config;

/// Of which the catalogue has no measurement.
std::string on_unmeasured_device() {
  std::string text = replaced(small_config(), "device: MI300X\n    format", "device: L40S\n    format");
  return replaced(std::move(text), "device: MI300X\n    capacity", "device: L40S\n    capacity");
}

TEST(SpeedConfig, WarnsOfObjectivesOnADeviceThatIsOnlyKnownFromItsDataSheet) {
  EXPECT_THAT(config_warnings(parse_config(on_unmeasured_device(), "test.yaml")),
              Contains(AllOf(HasSubstr("llama-mi300x"), HasSubstr("data sheet"), HasSubstr("objective"))));
}

TEST(SpeedConfig, CoefficientsOfTheConfigurationAreAMeasurement) {
  const Config config = parse_config(
      replaced(on_unmeasured_device(), "weights: 16GB", "weights: 16GB\n    speed: {step_floor: 20ms}"),
      "test.yaml");
  EXPECT_EQ(config.fleet.deployments[0].speed_basis.tier, SpeedTier::kMeasured);
  EXPECT_THAT(config_warnings(config), Not(Contains(HasSubstr("data sheet"))));
}

TEST(SpeedConfig, PredictionsBeginAsWideAsTheirSpeedIsUncertain) {
  const Config config = parse_config(small_config(), "test.yaml");
  const SpeedBasis& basis = config.fleet.deployments[0].speed_basis;
  EXPECT_EQ(basis.tier, SpeedTier::kDataSheet);
  EXPECT_EQ(config.fleet.replicas[0].errors.widest().tpot, initial_errors(basis).widest().tpot);
  EXPECT_GT(config.fleet.replicas[0].errors.widest().tpot, PredictionErrors{}.widest().tpot);
}

}  // namespace
}  // namespace fareway
