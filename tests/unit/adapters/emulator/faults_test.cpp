#include "adapters/emulator/faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fareway::emulator {
namespace {

using ::testing::HasSubstr;

TEST(ReadFault, TakesEveryField) {
  const auto fault = read_fault(R"({"kind":"reset","after_events":3,"count":2,"for_seconds":0.5})");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, Fault::Kind::kReset);
  EXPECT_EQ(fault->after_events, 3);
  EXPECT_EQ(fault->count, 2);
  EXPECT_EQ(fault->for_seconds, 0.5);
  EXPECT_EQ(read_fault(R"({"kind":"slow","factor":4})")->factor, 4);
  EXPECT_EQ(read_fault(R"({"kind":"status","status":429})")->status, 429U);
}

TEST(ReadFault, SaysWhatIsWrong) {
  EXPECT_THAT(read_fault("").error(), HasSubstr("JSON object"));
  EXPECT_THAT(read_fault("[1]").error(), HasSubstr("JSON object"));
  EXPECT_THAT(read_fault(R"({"count":1})").error(), HasSubstr("JSON object"));
  EXPECT_THAT(read_fault(R"({"kind":"explode"})").error(), HasSubstr("kind: must be one of slow"));
  EXPECT_THAT(read_fault(R"({"kind":7})").error(), HasSubstr("kind: must be one of slow"));
  EXPECT_THAT(read_fault(R"({"kind":"slow","factor":0})").error(), HasSubstr("factor: must be"));
  EXPECT_THAT(read_fault(R"({"kind":"status","status":200})").error(),
              HasSubstr("status: must be 400 to 599"));
  EXPECT_THAT(read_fault(R"({"kind":"reset","count":-1})").error(), HasSubstr("count: must be"));
  EXPECT_THAT(read_fault(R"({"kind":"hang","for_seconds":0})").error(), HasSubstr("for_seconds: must be"));
  EXPECT_THAT(read_fault(R"({"kind":"hang","wen":1})").error(), HasSubstr("wen: unknown"));
}

TEST(Faults, StrikeAsOftenAsTheyWereTold) {
  Faults faults;
  EXPECT_FALSE(faults.strike());
  faults.set({.kind = Fault::Kind::kStatus, .count = 2});
  EXPECT_TRUE(faults.strike());
  EXPECT_TRUE(faults.strike());
  EXPECT_FALSE(faults.strike());
  faults.set({.kind = Fault::Kind::kGarbage});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(faults.strike());
  faults.set({.kind = Fault::Kind::kSlow});
  EXPECT_FALSE(faults.strike());
}

TEST(Faults, CountRequestsDownToTheRefusal) {
  Faults faults;
  faults.set({.kind = Fault::Kind::kRefuseAfter, .count = 2});
  EXPECT_FALSE(faults.last_before_refusal());
  EXPECT_TRUE(faults.last_before_refusal());
  EXPECT_FALSE(faults.last_before_refusal());
}

}  // namespace
}  // namespace fareway::emulator
