#include "router/observe/decision_log.hpp"

#include <gmock/gmock.h>

namespace fareway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> ids(const std::vector<std::shared_ptr<const DecisionRecord>>& records) {
  std::vector<std::string> ids;
  for (const auto& record : records) ids.push_back(record->request_id);
  return ids;
}

TEST(DecisionLog, FindsARecordByItsRequestIdAndSeesWhatIsWrittenToItLater) {
  DecisionLog log;
  const auto record = log.open("a");
  record->status = 200;
  ASSERT_NE(log.find("a"), nullptr);
  EXPECT_EQ(log.find("a")->status, 200);
  EXPECT_EQ(log.find("b"), nullptr);
}

TEST(DecisionLog, GivesTheLatestNewestFirstAndNoMoreThanThereAre) {
  DecisionLog log;
  EXPECT_THAT(log.latest(5), IsEmpty());
  for (const char* id : {"a", "b", "c"}) log.open(id);
  EXPECT_THAT(ids(log.latest(2)), ElementsAre("c", "b"));
  EXPECT_THAT(ids(log.latest(9)), ElementsAre("c", "b", "a"));
  EXPECT_THAT(log.latest(0), IsEmpty());
}

TEST(DecisionLog, ForgetsTheOldestBeyondItsCapacityWhileHoldersKeepTheirs) {
  DecisionLog log(2);
  const auto held = log.open("a");
  log.open("b");
  log.open("c");
  EXPECT_EQ(log.find("a"), nullptr);
  EXPECT_EQ(held->request_id, "a");
  EXPECT_THAT(ids(log.latest(9)), ElementsAre("c", "b"));
}

TEST(DecisionLog, OfTwoRecordsWithOneIdTheLaterIsFoundEvenAfterTheEarlierLeft) {
  DecisionLog log(2);
  log.open("same");
  const auto later = log.open("same");
  EXPECT_EQ(log.find("same"), later);
  log.open("other");  // the earlier "same" leaves
  EXPECT_EQ(log.find("same"), later);
  log.open("another");
  EXPECT_EQ(log.find("same"), nullptr);
}

TEST(DecisionLog, WithoutCapacityKeepsOne) {
  DecisionLog log(0);
  log.open("a");
  log.open("b");
  EXPECT_THAT(ids(log.latest(9)), ElementsAre("b"));
}

TEST(DecisionLog, KeepsAShareOfTheRequestsChosenByTheirIds) {
  DecisionLog log(10'000, 0.25);
  DecisionLog other(10'000, 0.25);
  for (int i = 0; i < 4000; ++i) {
    const std::string id = "request-" + std::to_string(i);
    EXPECT_NE(log.open(id), nullptr) << "whoever fills it in need not know";
    other.open(id);
    EXPECT_EQ(log.find(id) == nullptr, other.find(id) == nullptr);
  }
  EXPECT_NEAR(static_cast<double>(log.latest(10'000).size()), 1000, 120);
}

}  // namespace
}  // namespace fareway
