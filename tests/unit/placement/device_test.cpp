#include "placement/model/device.hpp"

#include <gtest/gtest.h>

#include "placement/catalogue/catalogue.hpp"

namespace fareway {
namespace {

const Device& known(std::string_view name) {
  return *find_device(name);
}

TEST(FormatSupport, ConvertsOcpFp8OnAnFnuzDeviceAndNeverTheOtherWayRound) {
  EXPECT_EQ(format_support(known("MI300X"), NumberFormat::kFp8), FormatSupport::kConverted);
  EXPECT_EQ(format_support(known("MI300X"), NumberFormat::kFp8Fnuz), FormatSupport::kNative);
  EXPECT_EQ(format_support(known("MI355X"), NumberFormat::kFp8), FormatSupport::kNative);
  EXPECT_EQ(format_support(known("MI355X"), NumberFormat::kFp8Fnuz), FormatSupport::kWrong);
  EXPECT_EQ(format_support(known("B300"), NumberFormat::kFp8Fnuz), FormatSupport::kWrong);
}

TEST(FormatSupport, EmulatesMxfp4WhereTheDeviceHasNone) {
  EXPECT_EQ(format_support(known("MI300X"), NumberFormat::kMxfp4), FormatSupport::kEmulated);
  EXPECT_EQ(format_support(known("MI355X"), NumberFormat::kMxfp4), FormatSupport::kNative);
}

TEST(FormatSupport, NamesOfFormatsAreReadBack) {
  for (const auto format : {NumberFormat::kBf16, NumberFormat::kFp8, NumberFormat::kFp8Fnuz,
                            NumberFormat::kInt4, NumberFormat::kMxfp4, NumberFormat::kNvfp4})
    EXPECT_EQ(parse_number_format(to_string(format)), format);
  EXPECT_FALSE(parse_number_format("fp7"));
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
