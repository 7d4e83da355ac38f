#include "router/config/quantity_text.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/config/address_text.hpp"

namespace fareway {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(QuantityText, ReadsTimesToTheNearestDouble) {
  EXPECT_EQ(*parse_seconds("250ms"), Seconds{0.25});
  EXPECT_EQ(*parse_seconds("0.2ms"), Seconds{0.0002});
  EXPECT_EQ(*parse_seconds("12.5 ms"), Seconds{0.0125});
  EXPECT_EQ(*parse_seconds("31us"), Seconds{31e-6});
  EXPECT_EQ(*parse_seconds("0.679ns"), Seconds{0.679e-9});
  EXPECT_EQ(*parse_seconds("10min"), Seconds{600});
  EXPECT_EQ(*parse_seconds("1.5h"), Seconds{5400});
  EXPECT_EQ(*parse_seconds("0s"), Seconds{0});
}

TEST(QuantityText, ReadsMillisecondsExactlyOrNotAtAll) {
  EXPECT_EQ(*parse_milliseconds("1ms"), 1ms);
  EXPECT_EQ(*parse_milliseconds("0.5s"), 500ms);
  EXPECT_EQ(*parse_milliseconds("2000us"), 2ms);
  EXPECT_EQ(*parse_milliseconds("0.025h"), 90s);
  EXPECT_THAT(parse_milliseconds("1.5ms").error().what, HasSubstr("finer than a millisecond"));
  EXPECT_THAT(parse_milliseconds("999us").error().what, HasSubstr("finer than a millisecond"));
  EXPECT_FALSE(parse_milliseconds("99999999999999999999h"));
}

TEST(QuantityText, ReadsSizesToTheByte) {
  EXPECT_EQ(*parse_bytes("1028921163776B"), Bytes{1028921163776});
  EXPECT_EQ(*parse_bytes("192GiB"), Bytes{192 * kGibibyte});
  EXPECT_EQ(*parse_bytes("64MiB"), Bytes{67108864});
  EXPECT_EQ(*parse_bytes("54GB"), Bytes{54'000'000'000});
  EXPECT_EQ(*parse_bytes("0.5KiB"), Bytes{512});
  // 50.3 × 2^30 = 54,009,213,747.2
  EXPECT_EQ(*parse_bytes("50.3GiB"), Bytes{54'009'213'747});
  // 0.7 × 1024 = 716.8, and half a byte goes up
  EXPECT_EQ(*parse_bytes("0.7KiB"), Bytes{717});
  EXPECT_EQ(*parse_bytes("0.5B"), Bytes{1});
}

TEST(QuantityText, RefusesSizesThatWouldNotBeExact) {
  EXPECT_FALSE(parse_bytes("1.1234567GiB"));
  EXPECT_FALSE(parse_bytes("9000000TiB"));
  EXPECT_FALSE(parse_bytes("99999999999999999999B"));
}

TEST(QuantityText, ReadsRates) {
  EXPECT_EQ(*parse_bandwidth("5.3TB/s"), BytesPerSecond{5.3e12});
  EXPECT_EQ(*parse_bandwidth("448GB/s"), BytesPerSecond{448e9});
  EXPECT_EQ(*parse_flops("1307.4TFLOPS"), FlopsPerSecond{1307.4e12});
  EXPECT_EQ(*parse_flops("2.5PFLOPS"), FlopsPerSecond{2.5e15});
}

TEST(QuantityText, NamesTheUnitsWhereOneIsMissingOrWrong) {
  EXPECT_EQ(parse_seconds("30").error().what,
            R"("30" has no unit; write a number and one of ns, us, ms, s, min, h, as "250ms")");
  EXPECT_EQ(
      parse_bytes("64KB").error().what,
      R"("64KB" has an unknown unit "KB"; write a number and one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, )"
      R"(as "192GiB")");
  EXPECT_THAT(parse_bandwidth("5.3TB").error().what, HasSubstr("GB/s, TB/s"));
  EXPECT_THAT(parse_flops("5TOPS").error().what, HasSubstr("TFLOPS, PFLOPS"));
}

class NoTime : public ::testing::TestWithParam<const char*> {};

TEST_P(NoTime, IsRefused) {
  EXPECT_FALSE(parse_seconds(GetParam()));
  EXPECT_FALSE(parse_milliseconds(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(QuantityText, NoTime,
                         ::testing::Values("", "s", "-3s", "+3s", ".5s", "5.s", "1.2.3s", "1e3s", "nan",
                                           "inf s", "3  s", "3s ", " 3s", "3S", "0x3s", "1,5s", "1_000s",
                                           "1234567890123456789012345678901234567890s"));

TEST(QuantityText, RefusesTimesOfMoreThanAYear) {
  EXPECT_FALSE(parse_seconds("8785h"));
}

TEST(QuantityText, ReadsInstantsWithOffsetAndFraction) {
  using std::chrono::sys_days;
  using namespace std::chrono;
  const WallTime march = sys_days{2026y / March / 1};
  EXPECT_EQ(*parse_rfc3339("2026-03-01T00:00:00Z"), march);
  EXPECT_EQ(*parse_rfc3339("2026-03-01T01:30:00+01:30"), march);
  EXPECT_EQ(*parse_rfc3339("2026-02-28T19:00:00-05:00"), march);
  EXPECT_EQ(*parse_rfc3339("2026-03-01T00:00:00.25Z"), march + 250ms);
  EXPECT_EQ(*parse_rfc3339("2028-02-29T23:59:59Z"), WallTime{sys_days{2028y / March / 1}} - 1s);
}

class NoInstant : public ::testing::TestWithParam<const char*> {};

TEST_P(NoInstant, IsRefused) {
  EXPECT_FALSE(parse_rfc3339(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    QuantityText, NoInstant,
    ::testing::Values("", "2026-03-01", "2026-03-01T00:00:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
                      "2026-00-01T00:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01T00:60:00Z",
                      "2026-03-01T00:00:60Z", "2026-03-01 00:00:00Z", "2026-03-01T00:00:00+0100",
                      "2026-03-01T00:00:00.Z", "2026-03-01T00:00:00.1234567890Z", "1969-12-31T23:59:59Z",
                      "2201-01-01T00:00:00Z", "2026-03-01T00:00:00Zz", "-026-03-01T00:00:00Z"));

TEST(AddressText, ReadsNamesAndBothKindsOfAddress) {
  EXPECT_EQ(parse_listen_address("localhost:8080")->host, "localhost");
  EXPECT_EQ(parse_listen_address("127.0.0.1:0")->port, 0);
  EXPECT_EQ(parse_listen_address("[::1]:65535")->host, "::1");
  EXPECT_EQ(parse_listen_address("[::1]:65535")->port, 65535);
  EXPECT_EQ(parse_endpoint("http://gpu-1.internal:8000")->address.host, "gpu-1.internal");
  EXPECT_EQ(parse_endpoint("http://[fd00::7]:8000")->address.host, "fd00::7");
  EXPECT_FALSE(parse_endpoint("http://gpu:8000")->secure);
  EXPECT_TRUE(parse_endpoint("https://gpu:8000")->secure);
}

class NoAddress : public ::testing::TestWithParam<const char*> {};

TEST_P(NoAddress, IsRefused) {
  EXPECT_FALSE(parse_listen_address(GetParam()));
  EXPECT_FALSE(parse_endpoint(std::string("http://") + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(AddressText, NoAddress,
                         ::testing::Values("", ":", "host", "host:", ":8080", "host:65536", "host:-1",
                                           "host:8080x", "host: 80", "::1:8080", "[::1]", "[::1]8080",
                                           "[::1:8080", "[gpu]:80", "[]:80", "127.0.0.256:80", "1.2.3:80",
                                           "ho st:80", "h\xc3\xb6st:80"));

TEST(AddressText, ExplainsWhatAnEndpointMayNotHold) {
  EXPECT_THAT(parse_endpoint("https:/gpu:8000").error().what, HasSubstr("must start with http://"));
  EXPECT_THAT(parse_endpoint("gpu:8000").error().what, HasSubstr("must start with http://"));
  EXPECT_THAT(parse_endpoint("http://gpu:8000/v1").error().what, HasSubstr("end after the port"));
  EXPECT_THAT(parse_endpoint("http://gpu:8000?x").error().what, HasSubstr("end after the port"));
  EXPECT_THAT(parse_endpoint("http://gpu:0").error().what, HasSubstr("port 0"));
}

}  // namespace
}  // namespace fareway
