#include "router/gateway/shape.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fareway {
namespace {

using ::testing::HasSubstr;

std::string spliced(std::string body, Api api = Api::kChat) {
  ShapeReader reader;
  const auto facts = reader.read(api, body);
  if (!facts) return facts.error().message;
  if (!facts->ask_for_usage) return body;
  const Splice& splice = *facts->ask_for_usage;
  return body.replace(splice.offset, splice.removed, splice.inserted);
}

Refusal refusal_of(std::string body) {
  ShapeReader reader;
  const auto facts = reader.read(Api::kChat, body);
  return facts ? Refusal{.status = 200, .code = {}, .param = {}, .message = {}, .reason = {}} : facts.error();
}

std::vector<BlockKey> prefix_of(std::string body, std::uint64_t seed = 1) {
  ShapeReader reader;
  EXPECT_TRUE(reader.read(Api::kChat, body));
  return reader.prefix(seed);
}

TEST(ShapeSplice, AsksAStreamForUsageWhereverTheClientDidNot) {
  EXPECT_EQ(spliced(R"({"model":"m","stream":true})"),
            R"({"stream_options":{"include_usage":true},"model":"m","stream":true})");
  EXPECT_EQ(spliced(R"( { "model":"m","stream":true})"),
            R"( {"stream_options":{"include_usage":true}, "model":"m","stream":true})");
  EXPECT_EQ(spliced(R"({"model":"m","stream_options":null,"stream":true})"),
            R"({"model":"m","stream_options":{"include_usage":true},"stream":true})");
  EXPECT_EQ(spliced(R"({"model":"m","stream_options":{ },"stream":true})"),
            R"({"model":"m","stream_options":{"include_usage":true },"stream":true})");
  EXPECT_EQ(spliced(R"({"model":"m","stream":true,"stream_options":{"x":{"y":[1]}}})"),
            R"({"model":"m","stream":true,"stream_options":{"include_usage":true,"x":{"y":[1]}}})");
  EXPECT_EQ(spliced(R"({"model":"m","stream":true,"stream_options":{"include_usage": false ,"x":1}})"),
            R"({"model":"m","stream":true,"stream_options":{"include_usage": true ,"x":1}})");
}

TEST(ShapeSplice, LeavesEverythingElseAlone) {
  for (const char* body :
       {R"({"model":"m"})", R"({"model":"m","stream":false,"stream_options":{"include_usage":false}})",
        R"({"model":"m","stream":true,"stream_options":{"include_usage":true}})",
        R"({"model":"m","stream":true,"stream_options":7})"}) {
    EXPECT_EQ(spliced(body), body);
  }
  EXPECT_EQ(spliced(R"({"model":"m","stream":true})", Api::kResponses), R"({"model":"m","stream":true})");
  EXPECT_EQ(spliced(R"({"model":"m","stream":true})", Api::kMessages), R"({"model":"m","stream":true})");
}

TEST(Shape, TakesTheLastOfTwoMembersAsEnginesDo) {
  std::string body = R"({"model":"a","stream":true,"model":"b","stream":false})";
  ShapeReader reader;
  const auto facts = reader.read(Api::kChat, body);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->model, "b");
  EXPECT_FALSE(facts->stream);
}

TEST(Shape, ReadsEscapedNamesAndTheSmallestLimit) {
  std::string body =
      R"({"mod\u0065l":"\u0071","max_tokens":9,"max_completion_tokens":5,"prompt_cache_key":"k"})";
  ShapeReader reader;
  const auto facts = reader.read(Api::kChat, body);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->model, "q");
  EXPECT_EQ(facts->output_limit, Tokens{5});
  EXPECT_EQ(facts->cache_key, "k");
}

TEST(Shape, CountsUnescapedTextAndAnImageAsAboutAThousandTokens) {
  std::string body = R"({"model":"m","messages":["ab\u00e9"],"ignored":"xxxx"})";
  ShapeReader reader;
  EXPECT_EQ(reader.read(Api::kChat, body)->prompt_bytes, 4u);
  body = R"({"model":"m","messages":[{"image_url":{"url":")" + std::string(1'000'000, 'A') + R"("}}]})";
  EXPECT_EQ(reader.read(Api::kChat, body)->prompt_bytes, 4000u);
}

TEST(Shape, RefusesWhatIsNotJsonAndSaysWhere) {
  EXPECT_THAT(refusal_of(R"({"model":"m","x":[1,,2]})").message, HasSubstr("near byte 20"));
  for (const char* body : {"", "[1]", "7", R"({"model":"m")", R"({"model":"m"} x)", R"({"model":"m"}})",
                           R"({"model":"m","x":tru})", R"({"model":"m","x":nulL})", R"({"model":"m","x":01})",
                           R"({"model":"m","x":"\q"})", "{\"model\":\"m\xff\"}", R"({"model":"m","n":0})",
                           R"({"model":"m","max_tokens":1.5})", R"({"model":"m","stream":"yes"})"}) {
    EXPECT_EQ(refusal_of(body).status, 400) << body;
  }
  for (const char* body : {R"({})", R"({"model":""})", R"({"model":null})", R"({"model":{}})"}) {
    EXPECT_EQ(refusal_of(body).param, "model") << body;
  }
}

TEST(Shape, RefusesNestingBeyondItsLimitWithoutRecursingAway) {
  const auto nested = [](std::string_view member, std::size_t depth) {
    return R"({"model":"m",")" + std::string(member) + "\":" + std::string(depth, '[') +
           std::string(depth, ']') + "}";
  };
  for (const char* member : {"x", "messages", "tools", "stream_options"}) {
    EXPECT_EQ(refusal_of(nested(member, 255)).status, 200) << member;
    EXPECT_EQ(refusal_of(nested(member, 100'000)).status, 400) << member;
  }
  std::string open;
  for (int i = 0; i < 50'000; ++i) open += R"({"a":)";
  EXPECT_EQ(refusal_of(open).status, 400);
}

TEST(ShapePrefix, GrowsWithTheConversationAndKeepsItsHead) {
  const std::string turn(3000, 'a');
  const auto first = prefix_of(R"({"model":"m","messages":[{"content":")" + turn + R"("}]})");
  const auto second = prefix_of(R"({"messages":[{"content":")" + turn + R"("},{"content":")" + turn +
                                R"("}],"model":"m","temperature":1})");
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 5u);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
}

TEST(ShapePrefix, PutsToolsAndSystemBeforeMessagesWhateverTheirOrder) {
  const std::string text(2000, 'a');
  const std::string tools = R"("tools":[{"name":")" + std::string(2000, 't') + R"("}])";
  const std::string messages = R"("messages":[")" + text + R"("])";
  EXPECT_EQ(prefix_of(R"({"model":"m",)" + tools + "," + messages + "}"),
            prefix_of(R"({"model":"m",)" + messages + "," + tools + "}"));
}

TEST(ShapePrefix, DiffersByTenantByContentAndByWhereAPieceEnds) {
  const std::string body = R"({"model":"m","messages":[")" + std::string(2000, 'a') + R"("]})";
  EXPECT_NE(prefix_of(body, 1), prefix_of(body, 2));
  EXPECT_NE(prefix_of(R"({"model":"m","messages":["ab","c)" + std::string(2000, 'x') + R"("]})"),
            prefix_of(R"({"model":"m","messages":["a","bc)" + std::string(2000, 'x') + R"("]})"));
}

}  // namespace
}  // namespace fareway
