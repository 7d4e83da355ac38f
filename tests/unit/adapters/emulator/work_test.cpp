#include "adapters/emulator/work.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/emulator/text.hpp"

namespace fareway::emulator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Tokens kContext{1000};

boost::system::result<Work, ApiError> plan(Api api, std::string_view body) {
  return plan_work(api, body, "m", kContext);
}

TEST(Text, CountsFourBytesAToken) {
  EXPECT_EQ(count_tokens(""), Tokens{0});
  EXPECT_EQ(count_tokens("abcd"), Tokens{1});
  EXPECT_EQ(count_tokens("abcde"), Tokens{2});
  EXPECT_EQ(count_tokens("中中"), Tokens{2});  // six bytes
}

TEST(Text, MakesTheSameAnswerForTheSamePromptWithMultiByteCharacters) {
  const std::uint64_t seed = seed_of("hello");
  EXPECT_EQ(words(seed, Tokens{40}), words(seed, Tokens{40}));
  EXPECT_NE(words(seed, Tokens{40}), words(seed_of("hullo"), Tokens{40}));
  EXPECT_EQ(count_tokens(words(seed, Tokens{40})), Tokens{40});
  EXPECT_GE(static_cast<unsigned char>(word(seed, 4).back()), 0x80U);
  for (std::uint64_t other = 0; other < 1000; ++other) {
    EXPECT_GE(natural_length(other), Tokens{32});
    EXPECT_LE(natural_length(other), Tokens{256});
  }
}

TEST(Text, ChainsBlockKeys) {
  const std::string block(1024, 'x');
  const auto keys = block_keys(block + block + "tail");
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_NE(keys[0], keys[1]);  // the same text, at another place
  EXPECT_EQ(block_keys(block).front(), keys[0]);
  EXPECT_EQ(base64("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
}

TEST(Work, TakesTheLimitForTheLengthAndElseMakesOneUp) {
  const auto limited = plan(Api::kChat, R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":7})");
  ASSERT_TRUE(limited);
  EXPECT_EQ(limited->sequences.front().output, Tokens{7});
  EXPECT_EQ(limited->reason, FinishReason::kLength);
  EXPECT_EQ(limited->request.model, "m");
  const auto free = plan(Api::kChat, R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":null})");
  ASSERT_TRUE(free);
  EXPECT_EQ(free->sequences.front().output, natural_length(free->seed));
  EXPECT_EQ(free->reason, FinishReason::kStop);
}

TEST(Work, ReadsEachApisOwnLimit) {
  EXPECT_EQ(plan(Api::kChat,
                 R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":9,"max_completion_tokens":3})")
                ->sequences.front()
                .output,
            Tokens{3});
  EXPECT_EQ(plan(Api::kResponses, R"({"input":"hi","max_output_tokens":4})")->sequences.front().output,
            Tokens{4});
  EXPECT_EQ(plan(Api::kCompletions, R"({"prompt":"hi","max_tokens":5})")->sequences.front().output,
            Tokens{5});
  EXPECT_EQ(plan(Api::kMessages, R"({"messages":[{"role":"user","content":"hi"}]})").error().param,
            "max_tokens");
}

TEST(Work, CountsPromptsOfEveryForm) {
  const auto prompt = [](Api api, std::string_view body) {
    const auto work = plan(api, body);
    return work ? work->prompt_tokens() : Tokens{-1};
  };
  EXPECT_EQ(prompt(Api::kCompletions, R"({"prompt":"12345678"})"), Tokens{2});
  EXPECT_EQ(prompt(Api::kCompletions, R"({"prompt":[5,6,7]})"), Tokens{3});
  EXPECT_EQ(prompt(Api::kCompletions, R"({"prompt":["12345678"]})"), Tokens{2});
  EXPECT_EQ(prompt(Api::kEmbeddings, R"({"input":["1234","12345678"]})"), Tokens{3});
  EXPECT_EQ(prompt(Api::kEmbeddings, R"({"input":[[1,2],[3]]})"), Tokens{3});
  // "<|user|>\nhi\n<|assistant|>\n" is 26 bytes, in whatever shape the content comes.
  EXPECT_EQ(prompt(Api::kChat, R"({"messages":[{"role":"user","content":"hi"}]})"), Tokens{7});
  EXPECT_EQ(prompt(Api::kChat, R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]})"),
            Tokens{7});
  EXPECT_EQ(prompt(Api::kResponses, R"({"input":"hi"})"), Tokens{7});
  // An image counts one block, however large it is.
  EXPECT_EQ(prompt(Api::kChat, R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"},)"
                               R"({"type":"image_url","image_url":{"url":"data:abc"}}]}]})"),
            Tokens{7 + 256});
}

TEST(Work, LetsTheNextTurnContinueTheTextOfTheLast) {
  const std::string question(900, 'q');
  const std::string first = R"({"role":"user","content":")" + question + R"("})";
  const auto turn = plan(Api::kChat, R"({"messages":[)" + first + R"(],"max_tokens":400})");
  ASSERT_TRUE(turn);
  const std::string answer = words(turn->seed, Tokens{400});
  const auto next = plan(Api::kChat, R"({"messages":[)" + first + R"(,{"role":"assistant","content":")" +
                                         answer + R"("},{"role":"user","content":"and?"}],"max_tokens":1})");
  ASSERT_TRUE(next);
  ASSERT_GE(turn->sequences.front().blocks.size(), 2U);
  EXPECT_EQ(next->sequences.front().blocks[0], turn->sequences.front().blocks[0]);
  EXPECT_EQ(next->sequences.front().blocks[1], turn->sequences.front().blocks[1]);
}

TEST(Work, RefusesWhatIsTooLongInVllmsWords) {
  const std::string prompt(3800, 'x');  // 950 tokens
  const auto refused = plan(Api::kCompletions, R"({"prompt":")" + prompt + R"(","max_tokens":51})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 400U);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr("This model's maximum context length is 1000 tokens. However, you requested 51 output tokens "
                "and your prompt contains 950 input tokens, for a total of 1001 tokens."));
  EXPECT_TRUE(plan(Api::kCompletions, R"({"prompt":")" + prompt + R"(","max_tokens":50})"));
  EXPECT_TRUE(plan(Api::kEmbeddings, R"({"input":")" + std::string(4000, 'x') + R"("})"));
  EXPECT_THAT(plan(Api::kEmbeddings, R"({"input":")" + std::string(4001, 'x') + R"("})").error().message,
              HasSubstr("your prompt contains 1001 input tokens"));
  EXPECT_FALSE(plan(Api::kCompletions, R"({"prompt":"x","max_tokens":18446744073709551615})"));
}

TEST(Work, RefusesAnUnknownModelWith404) {
  const auto refused = plan(Api::kChat, R"({"model":"other","messages":[{"role":"user","content":"hi"}]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 404U);
  EXPECT_EQ(refused.error().message, "The model `other` does not exist.");
}

class BadBody : public ::testing::TestWithParam<const char*> {};

TEST_P(BadBody, IsRefusedWith400AndNeverQuoted) {
  const auto refused = plan(Api::kChat, GetParam());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 400U);
  EXPECT_THAT(refused.error().message, Not(HasSubstr("secret")));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadBody,
    ::testing::Values("", "{", "secret", "[]", "null", "{}", R"({"messages":"secret"})", R"({"messages":[]})",
                      R"({"messages":5})", "{\"messages\":\"\xff\"}", R"({"messages":[{}],"max_tokens":0})",
                      R"({"messages":[{}],"max_tokens":-1})", R"({"messages":[{}],"max_tokens":"secret"})",
                      R"({"messages":[{}],"max_tokens":1.5})", R"({"messages":[{}],"stream":"secret"})",
                      R"({"messages":[{}],"stream_options":"secret"})", R"({"messages":[{}],"model":5})",
                      R"({"messages":[{}],"stream_options":{"include_usage":1}})",
                      R"({"messages":[{}],"n":2})"));

TEST(Work, RefusesNestingThatWouldOverflowTheStack) {
  const std::string deep(1'000'000, '[');
  const auto refused = plan(Api::kChat, R"({"messages":)" + deep);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("nested too deeply"));
  const std::string brackets(1'000, '[');  // in a string they are text
  EXPECT_TRUE(plan(Api::kChat, R"({"messages":[{"role":"user","content":"\")" + brackets + R"("}]})"));
}

}  // namespace
}  // namespace fareway::emulator
