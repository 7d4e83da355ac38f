#include "router/admin/explain.hpp"

#include <gtest/gtest.h>

#include "sample_fleet.hpp"

namespace fareway {
namespace {

using namespace fareway::testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                                   // vocabulary

std::string sentence(const Decision& decision) {
  RequestShape request = shape(200'000, 350);
  request.output_limit = Tokens{400};
  return explain(request, decision, sample_fleet());
}

TEST(Explain, SaysTheCostTheMarginTheReasonAndWhoWasExcluded) {
  EXPECT_EQ(sentence(sample_decision()),
            "mi355x-glm costs $0.00123, $0.00045 less than b300-glm: cheaper GPU seconds; "
            "mi300x-glm cannot hold 200,400 tokens (context)");
}

TEST(Explain, WithoutALimitCountsOneTokenOfAnswerAsTheConstraintDoes) {
  EXPECT_EQ(explain(shape(99'999, 350), {std::nullopt, {excluded(kMi300xGlm, "context")}}, sample_fleet()),
            "No replica can serve it: mi300x-glm cannot hold 100,000 tokens (context)");
}

TEST(Explain, NamesTheCacheWhereItMakesTheDifference) {
  Decision decision{kB300Glm,
                    {feasible(kMi355xGlm, {{0.02}, {}, {}}), feasible(kB300Glm, {{0.005}, {}, {}})}};
  decision.candidates[1].cached = {12'288};
  decision.candidates[1].added_work = Seconds{0.25};
  EXPECT_EQ(sentence(decision),
            "b300-glm costs $0.005, $0.015 less than mi355x-glm: 12,288 more tokens of the prompt are cached "
            "there");
}

TEST(Explain, NamesFewerSecondsWhereTheReplicaIsFasterRatherThanCheaper) {
  Decision decision{kB300Glm,
                    {feasible(kMi355xGlm, {{0.02}, {}, {}}), feasible(kB300Glm, {{0.005}, {}, {}})}};
  decision.candidates[1].added_work = Seconds{0.25};
  EXPECT_EQ(sentence(decision),
            "b300-glm costs $0.005, $0.015 less than mi355x-glm: fewer GPU seconds (0.25 against 1)");
}

TEST(Explain, NamesTheRisksOfMissingTheObjective) {
  Decision decision{kB300Glm,
                    {feasible(kMi355xGlm, {{}, {0.5}, {0.1}}), feasible(kB300Glm, {{0.01}, {0.04}, {0.1}})}};
  decision.candidates[0].prediction.miss_probability = 0.5;
  decision.candidates[1].prediction.miss_probability = 0.04;
  EXPECT_EQ(
      sentence(decision),
      "b300-glm costs $0.15, $0.45 less than mi355x-glm: likelier to meet the objective (4.0 % to miss it "
      "against 50 %)");
}

TEST(Explain, NamesTheOthersThatWouldHaveMissedTheirs) {
  const Decision decision{kB300Glm,
                          {feasible(kMi355xGlm, {{}, {}, {2.5}}), feasible(kB300Glm, {{}, {}, {0.5}})}};
  EXPECT_EQ(sentence(decision),
            "b300-glm costs $0.5, $2.00 less than mi355x-glm: makes fewer others miss theirs");
}

TEST(Explain, ComparesWithTheCheapestOfTheOthersNotTheFirst) {
  const Decision decision{kMi300xGlm,
                          {feasible(kMi355xGlm, {{3}, {}, {}}), feasible(kB300Glm, {{2}, {}, {}}),
                           feasible(kMi300xGlm, {{1}, {}, {}})}};
  EXPECT_EQ(sentence(decision), "mi300x-glm costs $1.00, $1.00 less than b300-glm: cheaper GPU seconds");
  EXPECT_EQ(margin(decision), Usd{1});
}

TEST(Explain, AdmitsThatEqualsAreDrawnByLot) {
  const Decision decision{kB300Glm, {feasible(kMi355xGlm, {}), feasible(kB300Glm, {})}};
  EXPECT_EQ(sentence(decision), "b300-glm costs $0, as much as mi355x-glm: chosen among equals at random");
}

TEST(Explain, SaysWhenThereWasNoChoice) {
  EXPECT_EQ(sentence({kB300Glm, {feasible(kB300Glm, {{1}, {}, {}})}}),
            "b300-glm costs $1.00: the only replica of the model");
  const Decision one_left{kB300Glm, {excluded(kMi355xGlm, "asleep"), feasible(kB300Glm, {{1}, {}, {}})}};
  EXPECT_EQ(sentence(one_left),
            "b300-glm costs $1.00: the only replica that can serve it; mi355x-glm is asleep (asleep)");
  EXPECT_EQ(margin(one_left), std::nullopt);
}

TEST(Explain, GroupsTheExcludedByConstraintAndNamesAtMostThree) {
  const Decision decision{
      std::nullopt,
      {excluded(kMi355xGlm, "health"), excluded(kB300Glm, "region"), excluded(kMi300xGlm, "health"),
       excluded(kMi300xQwen, "health"), excluded(kMi300xQwen, "health")}};
  EXPECT_EQ(
      sentence(decision),
      "No replica can serve it: mi355x-glm, mi300x-glm, mi300x-qwen and 1 more are out of rotation (health); "
      "b300-glm is outside the tenant's regions (region)");
}

TEST(Explain, SaysSomethingOfAConstraintItDoesNotKnow) {
  EXPECT_EQ(sentence({std::nullopt, {excluded(kB300Glm, "quota"), excluded(kMi355xGlm, "quota")}}),
            "No replica can serve it: b300-glm and mi355x-glm are excluded (quota)");
}

TEST(Explain, OfADecisionWithoutCandidatesSaysThatNothingRunsTheModel) {
  EXPECT_EQ(sentence({}), "No replica runs the model");
  EXPECT_EQ(runner_up({}), nullptr);
}

}  // namespace
}  // namespace fareway
