#include "placement/model/device.hpp"

#include <gtest/gtest.h>

#include "placement/catalogue/catalogue.hpp"

namespace fareway {
namespace {

const Device& known(std::string_view name) {
  return *find_device(name);
}

TEST(NumberFormat, NamesAreReadBack) {
  for (const auto format : {NumberFormat::kBf16, NumberFormat::kFp8, NumberFormat::kFp8Fnuz,
                            NumberFormat::kInt4, NumberFormat::kMxfp4, NumberFormat::kNvfp4})
    EXPECT_EQ(parse_number_format(to_string(format)), format);
  EXPECT_FALSE(parse_number_format("fp7"));
}

TEST(AllReduce, TakesTheFitOfTheSmallestMeasuredGroupThatIsAsLarge) {
  EXPECT_DOUBLE_EQ(known("B200").all_reduce(3).latency.count(), 7.2e-6) << "that of four";
  EXPECT_EQ(known("B200").all_reduce(16).devices, 16U) << "nothing is measured: fixed latency over the links";
  EXPECT_DOUBLE_EQ(known("B200").all_reduce(16).bus_bandwidth.value, 50e9) << "over the network";
}

TEST(GroupBandwidth, AMeshGivesASmallGroupOnlySomeOfItsLinks) {
  EXPECT_DOUBLE_EQ(known("MI300X").group_bandwidth(2).value, 64e9);
  EXPECT_DOUBLE_EQ(known("MI300X").group_bandwidth(4).value, 3 * 64e9);
  EXPECT_DOUBLE_EQ(known("MI300X").group_bandwidth(8).value, 448e9);
  EXPECT_DOUBLE_EQ(known("B200").group_bandwidth(2).value, 900e9)
      << "behind a switch one peer gets everything";
}

}  // namespace
}  // namespace fareway
