#include "adapters/engines/engine.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "adapters/engines/gates.hpp"

namespace fareway {
namespace {

TEST(FindEngine, KnowsEveryNameItLists) {
  EXPECT_EQ(engine_names(), "vllm, llamacpp");
  ASSERT_NE(find_engine("vllm"), nullptr);
  ASSERT_NE(find_engine("llamacpp"), nullptr);
  EXPECT_EQ(find_engine("vllm")->name(), "vllm");
  EXPECT_EQ(find_engine("llamacpp")->name(), "llamacpp");
}

TEST(FindEngine, HasNothingForOtherNames) {
  EXPECT_EQ(find_engine("VLLM"), nullptr);
  EXPECT_EQ(find_engine(""), nullptr);
}

TEST(EndpointAuthority, PutsBracketsAroundIpv6Only) {
  EXPECT_EQ((Endpoint{"gpu-1.internal", 8000, ""}).authority(), "gpu-1.internal:8000");
  EXPECT_EQ((Endpoint{"10.0.0.7", 80, ""}).authority(), "10.0.0.7:80");
  EXPECT_EQ((Endpoint{"fd00::7", 8000, ""}).authority(), "[fd00::7]:8000");
}

TEST(Gates, ClampRoundingNoiseOfUsageAndRefuseTheRest) {
  EXPECT_EQ(gated_usage(0.42), 0.42);
  EXPECT_EQ(gated_usage(-0.001), 0.0);
  EXPECT_EQ(gated_usage(1.07), 1.0);
  EXPECT_EQ(gated_usage(1.5), 1.0);
  EXPECT_EQ(gated_usage(1.51), std::nullopt);
  EXPECT_EQ(gated_usage(43.9), std::nullopt);
  EXPECT_EQ(gated_usage(-1), std::nullopt);
  EXPECT_EQ(gated_usage(std::nan("")), std::nullopt);
  EXPECT_EQ(gated_usage(std::numeric_limits<double>::infinity()), std::nullopt);
}

TEST(Gates, TakeCountsThatAreFiniteAndNotNegative) {
  EXPECT_EQ(gated_count(0), 0);
  EXPECT_EQ(gated_count(37), 37);
  EXPECT_EQ(gated_count(1.170196e+06), 1170196);
  EXPECT_EQ(gated_count(-1), std::nullopt);
  EXPECT_EQ(gated_count(1e300), std::nullopt);
  EXPECT_EQ(gated_count(std::nan("")), std::nullopt);
  EXPECT_EQ(gated_count(std::numeric_limits<double>::infinity()), std::nullopt);
}

}  // namespace
}  // namespace fareway
