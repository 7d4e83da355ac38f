// Framing of event streams: where bytes are cut, comments, and the usage chunk that the router asks for.

#include <vector>

#include "tests/support/engine_scripts.hpp"

namespace fareway::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// What the client gets of a stream made of `pieces`, each sent as its own chunk.
std::string relayed(const std::vector<std::string>& pieces, SeenRow& row) {
  std::string chunks;
  for (const std::string& piece : pieces) chunks += chunk(piece);
  ScriptedBackend engine(streaming(chunks + std::string(kLast)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(gateway);
  EXPECT_TRUE(answer.whole);
  row = gateway.rows(1).at(0);
  expect_alive(gateway);
  return answer.body;
}

void expect_cut_anywhere(const std::string& text) {
  const std::string all = event(text) + finish_event() + usage_event(11, 7) + std::string(kDone);
  const std::string seen = event(text) + finish_event() + std::string(kDone);
  const std::size_t at = all.find(text);
  for (std::size_t cut = at + 1; cut < at + text.size(); ++cut) {
    SeenRow row;
    EXPECT_EQ(relayed({all.substr(0, cut), all.substr(cut)}, row), seen) << "cut behind byte " << cut;
    EXPECT_EQ(row.prompt, 11);
    EXPECT_EQ(row.completion, 7);
  }
}

TEST(KF01, A_CharacterOfThreeBytesCutBetweenChunks) {
  expect_cut_anywhere("\xe4\xb8\xad");
}

TEST(KF01, B_EmojiOfFourBytesCutBetweenChunks) {
  expect_cut_anywhere("\xf0\x9f\x98\x80");
}

TEST(KF01, C_EveryByteIsAChunk) {
  const std::string all = event("\xe4\xb8\xad") + finish_event() + usage_event(11, 7) + std::string(kDone);
  std::vector<std::string> bytes;
  for (const char byte : all) bytes.emplace_back(1, byte);
  SeenRow row;
  EXPECT_EQ(relayed(bytes, row), event("\xe4\xb8\xad") + finish_event() + std::string(kDone));
  EXPECT_EQ(row.completion, 7);
}

TEST(KF01, D_ThreeEventsAndTheEndInOneWrite) {
  SeenRow row;
  EXPECT_EQ(
      relayed({event("a") + event("b") + finish_event() + usage_event(11, 7) + std::string(kDone)}, row),
      event("a") + event("b") + finish_event() + std::string(kDone));
  EXPECT_EQ(row.completion, 7);
}

TEST(KF01, E_WritesCutInsideChunkFramingAndEventEnds) {
  const std::string bytes = std::string(kSseHead) + whole_stream();
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    if (backend.take_request(connection)) connection.send_one_by_one(bytes);
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  EXPECT_EQ(ask(gateway).body, event("hi") + finish_event() + std::string(kDone));
  EXPECT_EQ(gateway.rows(1).at(0).completion, 7);
}

TEST(KF01, F_EventGoesOnBeforeTheNextOneComes) {
  std::promise<void> seen;
  ScriptedBackend engine([&](RawConnection& connection, ScriptedBackend& backend) {
    if (!backend.take_request(connection)) return;
    connection.send(std::string(kSseHead) + chunk(event("first")));
    seen.get_future().wait();  // would hang where the router waited for more
    connection.send(whole_stream());
  });
  RunningGateway gateway({.replicas = {engine.port()}});
  RawConnection client = gateway.connect();
  client.send(post(kStreamBody));
  EXPECT_THAT(client.read_until(event("first")), HasSubstr("first"));
  seen.set_value();
  EXPECT_THAT(client.read_until(kDone), HasSubstr("[DONE]"));
}

void expect_no_comment_in_data(const std::string& body) {
  EXPECT_THAT(body, Not(HasSubstr("data: :")));
  EXPECT_THAT(body, Not(HasSubstr("data::")));
}

TEST(KF02, A_CommentsBeforeTheFirstEventAreNoEvents) {
  SeenRow row;
  const std::string body =
      relayed({": PROCESSING\n\n", ": PROCESSING\n\n", event("hi"), finish_event(), std::string(kDone)}, row);
  expect_no_comment_in_data(body);
  EXPECT_THAT(body, HasSubstr(event("hi")));
  EXPECT_EQ(row.outcome, "complete");
}

TEST(KF02, B_CommentGluedToAnEvent) {
  SeenRow row;
  const std::string body = relayed({": ping\n\n" + event("hi"), finish_event(), std::string(kDone)}, row);
  expect_no_comment_in_data(body);
  EXPECT_THAT(body, HasSubstr(event("hi")));
}

TEST(KF02, C_CommentInsideABlock) {
  std::string block = event("hi");
  block.insert(block.size() - 1, ": ping\n");
  SeenRow row;
  const std::string body = relayed({block, finish_event(), std::string(kDone)}, row);
  expect_no_comment_in_data(body);
  EXPECT_THAT(body, HasSubstr("\"content\":\"hi\""));
  EXPECT_EQ(row.completion, 1);
}

TEST(KF02, E_NothingButCommentsEndsWithTheFirstTokenLimit) {
  Held pinging;
  ScriptedBackend engine(pinging.script(std::string(kSseHead) + chunk(": ping\n\n")));
  RunningGateway gateway({.replicas = {engine.port()},
                          .adjust = [](Config& config) { config.limits.first_byte_timeout = 300ms; }});
  const RawAnswer answer = ask(gateway);
  EXPECT_FALSE(answer.whole);
  EXPECT_THAT(answer.body, HasSubstr("first_byte_timeout"));
  EXPECT_THAT(answer.body, Not(HasSubstr("[DONE]")));
  EXPECT_TRUE(pinging.closed.get_future().get());
}

struct UsageSeen {
  std::string client_body;
  std::string engine_body;
  SeenRow row;
};

/// A stream whose events are `events`, asked for with `options` behind the other members.
UsageSeen usage_of(const std::string& options, const std::vector<std::string>& events) {
  std::string chunks;
  for (const std::string& each : events) chunks += chunk(each);
  ScriptedBackend engine(streaming(chunks + chunk(kDone) + std::string(kLast)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const RawAnswer answer = ask(
      gateway, R"({"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true)" + options + "}");
  return {.client_body = answer.body, .engine_body = engine.requests().at(0), .row = gateway.rows(1).at(0)};
}

const std::vector<std::string> kUsual{event("a"), finish_event(), usage_event(12, 3)};

TEST(KF03, A_ClientThatDidNotAskSeesNoUsageChunk) {
  for (const char* options :
       {"", R"(,"stream_options":{"include_usage":false})", R"(,"stream_options":null)"}) {
    const UsageSeen seen = usage_of(options, kUsual);
    EXPECT_EQ(seen.client_body, event("a") + finish_event() + std::string(kDone)) << options;
    EXPECT_THAT(seen.engine_body, HasSubstr(R"("include_usage":true)")) << options;
    EXPECT_EQ(seen.row.prompt, 12) << options;
    EXPECT_EQ(seen.row.completion, 3) << options;
  }
}

TEST(KF03, B_ClientThatAskedSeesItOnceBeforeTheEnd) {
  const UsageSeen seen = usage_of(R"(,"stream_options":{"include_usage":true})", kUsual);
  EXPECT_EQ(seen.client_body, event("a") + finish_event() + usage_event(12, 3) + std::string(kDone));
  EXPECT_EQ(seen.row.completion, 3);
}

TEST(KF03, D_UnknownMembersOfTheOptionReachTheEngine) {
  const UsageSeen seen = usage_of(R"(,"stream_options":{"include_usage":true,"x_extra":1})", kUsual);
  EXPECT_THAT(seen.engine_body, HasSubstr(R"("x_extra":1)"));
  EXPECT_THAT(seen.client_body, HasSubstr(usage_event(12, 3)));
}

std::string with_usage(std::string block, int completion) {
  block.insert(block.rfind('}'),
               R"(,"usage":{"prompt_tokens":12,"completion_tokens":)" + std::to_string(completion) + "}");
  return block;
}

TEST(KF03, E_UsageOnTheFinishChunkIsRead) {
  const UsageSeen seen = usage_of("", {event("a"), with_usage(finish_event(), 3)});
  EXPECT_EQ(seen.row.prompt, 12);
  EXPECT_EQ(seen.row.completion, 3);
  EXPECT_THAT(seen.client_body, HasSubstr("\"finish_reason\":\"stop\""));
}

TEST(KF03, F_UsageThatGrowsInEveryChunkIsNotSummed) {
  const UsageSeen seen =
      usage_of("", {with_usage(event("a"), 1), with_usage(event("b"), 2), with_usage(finish_event(), 3)});
  EXPECT_EQ(seen.row.completion, 3);
  EXPECT_EQ(seen.row.prompt, 12);
}

TEST(KF03, H_OptionsOfAPlainRequestAreLeftAlone) {
  ScriptedBackend engine(ScriptedBackend::answering(chat_answer(3, 2)));
  RunningGateway gateway({.replicas = {engine.port()}});
  const std::string body =
      R"({"model":"m","messages":[],"stream":false,"stream_options":{"include_usage":true}})";
  EXPECT_EQ(ask(gateway, body).status(), 200);
  EXPECT_THAT(engine.requests().at(0), ::testing::EndsWith(body));
}

}  // namespace
}  // namespace fareway::testing
