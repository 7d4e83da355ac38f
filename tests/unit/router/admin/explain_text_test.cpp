#include "router/admin/explain_text.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "router/admin/figures.hpp"
#include "sample_fleet.hpp"

namespace fareway {
namespace {

using namespace fareway::testing;  // NOLINT(google-build-using-namespace): the builders are this file's
                                   // vocabulary
using ::testing::HasSubstr;
using ::testing::Not;

DecisionRecord sample() {
  DecisionRecord record;
  record.request_id = "01JDX";
  fill_sample(record);
  record.attempts[0].candidates[0].reading_age = Seconds{0.4};
  record.attempts[0].candidates[1].reading_age = Seconds{1.25};
  return record;
}

TEST(ExplainText, SaysInOneParagraphWhatWasAskedAndWhyAndThenShowsEveryCandidate) {
  EXPECT_EQ(explain_text(sample(), sample_fleet()),
            R"(01JDX
research asked for glm in class interactive: about 200,000 tokens of prompt, 350 of answer expected.
mi355x-glm costs $0.00123, $0.00045 less than b300-glm: cheaper GPU seconds; mi300x-glm cannot hold
200,400 tokens (context).

  replica     pool     dollars      GPU  own miss  others' miss  preference    TTFT   TPOT   miss  cached  load age
> mi355x-glm  mi355x  $0.00123   $0.001  $0.00018      $0.00005          $0  400 ms  20 ms  3.0 %       0    400 ms
  b300-glm    b300    $0.00168  $0.0014  $0.00019      $0.00009          $0  400 ms  20 ms  3.0 %       0    1.25 s
  mi300x-glm  mi300x  context
)");
}

TEST(ExplainText, SaysWhatHappenedAfterwards) {
  DecisionRecord record = sample();
  finish_sample(record);
  record.duration = Seconds{7};
  Fleet fleet = sample_fleet();
  fleet.classes[0].ttft = Seconds{0.1};
  fleet.classes[0].miss = {0.02};
  const std::string text = explain_text(record, fleet);
  std::string line = text.substr(0, text.find("\n\n"));
  std::ranges::replace(line, '\n', ' ');
  EXPECT_THAT(
      line, HasSubstr("It ended as complete: first token after 500 ms (400 ms predicted), 199,000 tokens of "
                      "prompt of which 4,096 cached, 321 of answer; 400 ms late, a miss worth $0.02 to its "
                      "class. Cost $0.00131, price $0.002."));
}

TEST(ExplainText, NamesTheRuleThatKeptACandidateOut) {
  DecisionRecord record = sample();
  record.attempts[0].candidates[2].excluded_by = "rule";
  record.attempts[0].candidates[2].rule = "nights";
  const std::string text = explain_text(record, sample_fleet());
  EXPECT_THAT(text, HasSubstr("by a rule (rule nights)."));
  EXPECT_THAT(text, HasSubstr("mi300x  rule nights\n"));
}

TEST(ExplainText, ShowsEachAttempt) {
  DecisionRecord record = sample();
  record.attempts.push_back(
      {kB300Glm, {excluded(kMi355xGlm, "failed_before"), feasible(kB300Glm, {{1}, {}, {}})}});
  const std::string text = explain_text(record, sample_fleet());
  EXPECT_THAT(text, HasSubstr("It took 2 attempts"));
  EXPECT_THAT(text, HasSubstr("\nAttempt 1\n"));
  EXPECT_THAT(text, HasSubstr("\nAttempt 2\n"));
}

TEST(ExplainText, OfARequestNobodyServesShowsNoTable) {
  DecisionRecord record = sample();
  record.attempts = {Decision{}};
  EXPECT_THAT(explain_text(record, sample_fleet()), HasSubstr("No replica runs the model."));
  EXPECT_THAT(explain_text(record, sample_fleet()), Not(HasSubstr("TTFT")));
}

TEST(Figures, AreShortAndSayTheirUnit) {
  EXPECT_EQ(dollars(-0.00201), "-$0.00201");
  EXPECT_EQ(dollars(12.345), "$12.35");
  EXPECT_EQ(span_of(Seconds{0.0123}), "12 ms");
  EXPECT_EQ(span_of(Seconds{1.25}), "1.25 s");
  EXPECT_EQ(span_of(Seconds{150}), "2.5 min");
  EXPECT_EQ(span_of(Seconds{9000}), "2.5 h");
}

TEST(Figures, StateTheEvidenceOfASlowReplica) {
  const SlowDown slow{.replica = kB300Glm,
                      .phase = WorkPhase::kDecode,
                      .of_profile = 3.02,
                      .of_siblings = 2.71,
                      .siblings = 3,
                      .observations = 24.3,
                      .spread = 0.061};
  EXPECT_EQ(
      slow_down_text(slow, sample_fleet()),
      "b300-glm takes 2.7 times as long as its 3 siblings and 3.0 times what its profile says to decode "
      "(24 observations, spread 6.1 %)");
}

}  // namespace
}  // namespace fareway
