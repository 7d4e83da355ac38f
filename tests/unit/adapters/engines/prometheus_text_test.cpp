#include "adapters/engines/prometheus_text.hpp"

#include <cmath>
#include <map>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/adapters/engines/samples.hpp"

namespace fareway {
namespace {

using test::read_file;
using test::samples_folder;
using ::testing::ElementsAre;
using ::testing::Pair;

struct OwnedSample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  // unescaped
  double value{};
};

struct Read {
  PrometheusPage page;
  std::vector<OwnedSample> samples;
};

Read read(std::string_view text) {
  Read result;
  result.page = read_prometheus_text(text, [&result](const PrometheusSample& sample) {
    OwnedSample owned{std::string(sample.name), {}, sample.value};
    for (const PrometheusLabel& label : sample.labels) {
      owned.labels.emplace_back(label.name, unescape_label(label.escaped_value));
    }
    result.samples.push_back(std::move(owned));
  });
  EXPECT_EQ(result.samples.size(), result.page.samples);
  return result;
}

double only_value(std::string_view text) {
  const Read result = read(text);
  EXPECT_EQ(result.samples.size(), 1U) << text;
  return result.samples.empty() ? std::nan("") : result.samples.front().value;
}

bool is_bad(std::string_view line) {
  const Read result = read(line);
  return result.page.samples == 0 && result.page.bad_lines == 1;
}

TEST(PrometheusText, ReadsNameLabelsAndValue) {
  const Read result = read(
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n");
  ASSERT_EQ(result.samples.size(), 1U);
  EXPECT_EQ(result.samples[0].name, "vllm:num_requests_running");
  EXPECT_THAT(result.samples[0].labels, ElementsAre(Pair("engine", "0"), Pair("model_name", "m")));
  EXPECT_EQ(result.samples[0].value, 3.0);
  EXPECT_EQ(result.page.bad_lines, 0U);
}

TEST(PrometheusText, FindsALabelByNameAndTellsAbsentFromEmpty) {
  read_prometheus_text("m{a=\"\",b=\"x\"} 1\n", [](const PrometheusSample& sample) {
    EXPECT_EQ(sample.label("a"), "");
    EXPECT_EQ(sample.label("b"), "x");
    EXPECT_EQ(sample.label("c"), std::nullopt);
    EXPECT_EQ(sample.label_text, "a=\"\",b=\"x\"");
  });
}

TEST(PrometheusText, TakesCommentsBlankLinesAndEmptyPagesForNothing) {
  for (const char* text :
       {"", "\n\n\n", "# HELP a b\n# TYPE a gauge\n#\n#no space\n", "# EOF\n", "   \t \n"}) {
    const Read result = read(text);
    EXPECT_EQ(result.page.samples, 0U) << text;
    EXPECT_EQ(result.page.bad_lines, 0U) << text;
  }
}

TEST(PrometheusText, ReadsEverySpellingOfNumbersThatExportersUse) {
  EXPECT_EQ(only_value("a 1.1701968896e+010"), 11701968896.0);
  EXPECT_EQ(only_value("a 1E6"), 1e6);
  EXPECT_EQ(only_value("a 5e-05"), 5e-5);
  EXPECT_EQ(only_value("a 1.e3"), 1000.0);
  EXPECT_EQ(only_value("a .5"), 0.5);
  EXPECT_EQ(only_value("a +7"), 7.0);
  EXPECT_EQ(only_value("a -0"), 0.0);
  EXPECT_EQ(only_value("a 18446744073709551615"), 18446744073709551616.0);
  for (const char* text : {"NaN", "nan", "Nan", "-nan", "-NaN", "+NaN"}) {
    EXPECT_TRUE(std::isnan(only_value("a " + std::string(text)))) << text;
  }
  for (const char* text : {"+Inf", "Inf", "inf", "INF", "+inf", "infinity"}) {
    EXPECT_EQ(only_value("a " + std::string(text)), HUGE_VAL) << text;
  }
  EXPECT_EQ(only_value("a -Inf"), -HUGE_VAL);
}

TEST(PrometheusText, RefusesWhatIsNotWhollyANumber) {
  for (const char* value :
       {"0x1p-2", "1_000", "1,5", "+-1", "++1", "--1", "1e", "1e309", "infin", "0.5.1", "-", "+", ""}) {
    EXPECT_TRUE(is_bad("a " + std::string(value))) << value;
  }
}

TEST(PrometheusText, KnowsThreeEscapesAndLeavesOtherBackslashes) {
  const Read result = read(R"(m{path="C:\\models\\a",msg="say \"hi\"",nl="a\nb",odd="a\tb"} 1)");
  ASSERT_EQ(result.samples.size(), 1U);
  EXPECT_THAT(result.samples[0].labels, ElementsAre(Pair("path", "C:\\models\\a"), Pair("msg", "say \"hi\""),
                                                    Pair("nl", "a\nb"), Pair("odd", "a\\tb")));
  EXPECT_EQ(unescape_label("ends with \\"), "ends with \\");
}

TEST(PrometheusText, IsNotMisledByPunctuationInsideLabelValues) {
  const Read result = read(R"(m{a="}",b="{",c=",",d="=",e="a=\"b\",c",f="# TYPE x gauge",g=""} 2)");
  ASSERT_EQ(result.samples.size(), 1U);
  EXPECT_THAT(result.samples[0].labels,
              ElementsAre(Pair("a", "}"), Pair("b", "{"), Pair("c", ","), Pair("d", "="),
                          Pair("e", "a=\"b\",c"), Pair("f", "# TYPE x gauge"), Pair("g", "")));
  EXPECT_EQ(result.samples[0].value, 2.0);
}

TEST(PrometheusText, AllowsBlanksAndTabsBetweenTokens) {
  EXPECT_EQ(only_value("m { engine = \"0\" , model = \"x\" } 3"), 3.0);
  EXPECT_EQ(only_value("m\t{engine=\"0\"}\t4"), 4.0);
  EXPECT_EQ(only_value("  m{engine=\"0\"}   0.5   "), 0.5);
  EXPECT_EQ(only_value("m{engine=\"0\",} 3"), 3.0);
  EXPECT_EQ(only_value("m{} 1"), 1.0);
  EXPECT_EQ(only_value("m{engine=\"0\"}3"), 3.0);
}

TEST(PrometheusText, PassesOverTimestampsAndExemplars) {
  EXPECT_EQ(only_value("m 3 1786937781000"), 3.0);
  EXPECT_EQ(only_value("m 3 -1"), 3.0);
  EXPECT_EQ(only_value("m 3 1786937781.25"), 3.0);
  EXPECT_EQ(only_value("m_bucket{le=\"0.5\"} 3 # {trace_id=\"4bf9\"} 0.31 1786937781.1"), 3.0);
  EXPECT_EQ(only_value("m_bucket{le=\"0.5\"} 3 1786937781 # {trace_id=\"4bf9\"} 0.31"), 3.0);
  EXPECT_TRUE(is_bad("m 3 later"));
  EXPECT_TRUE(is_bad("m 3 4 5"));
}

TEST(PrometheusText, ReadsCrlfAByteOrderMarkAndAMissingLastLineFeed) {
  EXPECT_EQ(read("# TYPE a gauge\r\na{x=\"1\"} 3\r\nb 4\r\n").page.samples, 2U);
  EXPECT_EQ(only_value("\xEF\xBB\xBF"
                       "a 3\n"),
            3.0);
  EXPECT_EQ(read("a 3\nb 4").page.samples, 2U);
}

TEST(PrometheusText, SkipsBadLinesAndKeepsTheirNeighbours) {
  const Read result = read(
      "first 3\n"
      "this is not a metric\n"
      "m{engine=0} 4\n"
      "{x=\"1\"} 5\n"
      "9abc 1\n"
      "a{b=\"c\"d=\"e\"} 1\n"
      "m{a=\"x} 2\n"
      "m{a:b=\"x\"} 2\n"
      "h {count:5,sum:1.5,schema:3}\n"
      "novalue\n"
      "m+Inf\n"
      "{\"quoted.name\",engine=\"0\"} 3\n"
      "last 1\n");
  ASSERT_EQ(result.samples.size(), 2U);
  EXPECT_EQ(result.samples[0].name, "first");
  EXPECT_EQ(result.samples[1].name, "last");
  EXPECT_EQ(result.page.bad_lines, 11U);
}

TEST(PrometheusText, KeepsWhatIsWholeOfAPageThatWasCut) {
  const Read result = read("a{x=\"0\"} 3\nb{x=\"0\",model_na");
  EXPECT_EQ(result.page.samples, 1U);
  EXPECT_EQ(result.page.bad_lines, 1U);
}

TEST(PrometheusText, SurvivesNulBytesAndInvalidUtf8) {
  EXPECT_EQ(read(std::string_view("a 3\n\0\0\nb 4\n", 11)).page.samples, 2U);
  EXPECT_EQ(read("m{a=\"\xFF\xFE\xC3\"} 1\na 3\n").page.samples, 2U);
}

TEST(PrometheusText, FindsNoSampleInHtmlOrJson) {
  for (const char* text : {"<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n", "[]",
                           "{}", R"({"error":{"code":501,"message":"no metrics"}})", R"("a 1\nb 2\n")"}) {
    const Read result = read(text);
    EXPECT_EQ(result.page.samples, 0U) << text;
    EXPECT_GT(result.page.bad_lines, 0U) << text;
  }
}

// What expected.json says of one file: a number of samples, or "1 or 2".
bool allows(const nlohmann::json& samples, std::size_t count) {
  if (samples.is_number()) return samples.get<std::size_t>() == count;
  const auto text = samples.get<std::string>();
  return text.find(std::to_string(count)) != std::string::npos;
}

std::map<std::string, double> last_values(const Read& result) {
  std::map<std::string, double> values;
  for (const OwnedSample& sample : result.samples) values[sample.name] = sample.value;
  return values;
}

void check_recorded(const std::string& file, const nlohmann::json& expected) {
  SCOPED_TRACE(file);
  const Read result = read(read_file(samples_folder() / "tricky" / file));
  if (expected.at("accept") == false) {
    EXPECT_EQ(result.page.samples, 0U);
    EXPECT_GT(result.page.bad_lines, 0U);
    return;
  }
  if (expected.contains("samples")) {
    EXPECT_TRUE(allows(expected.at("samples"), result.page.samples));
  }
  if (expected.contains("labels")) {
    std::map<std::string, std::string> labels;
    for (const auto& [name, value] : result.samples.at(0).labels) labels[name] = value;
    EXPECT_EQ(labels, (expected.at("labels").get<std::map<std::string, std::string>>()));
  }
  // Without a content type "# EOF" is a comment like any other, so the later value counts there.
  if (expected.contains("values") && file != "after_eof.txt") {
    const auto values = last_values(result);
    for (const auto& [name, value] : expected.at("values").items()) EXPECT_DOUBLE_EQ(values.at(name), value);
  }
}

TEST(PrometheusText, ReadsEveryRecordedTrickyPageAsExpected) {
  FAREWAY_NEEDS_SAMPLES();
  const auto expected = nlohmann::json::parse(read_file(samples_folder() / "tricky" / "expected.json"));
  ASSERT_GT(expected.size(), 50U);
  for (const auto& [file, what] : expected.items()) check_recorded(file, what);
}

}  // namespace
}  // namespace fareway
