#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/adapters/emulator/running_engine.hpp"

namespace fareway::emulator::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(Emulator, AnswersAChatWithItsUsage) {
  const Reply reply = post(kChat, chat(5));
  EXPECT_EQ(reply.status, 200U);
  EXPECT_EQ(reply.content_type, "application/json");
  const auto body = reply.json();
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["model"], "tiny");
  EXPECT_EQ(body["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(body["choices"][0]["message"]["content"].get<std::string>().size(), 20U);
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 7);
  EXPECT_EQ(body["usage"]["completion_tokens"], 5);
  EXPECT_EQ(body["usage"]["total_tokens"], 12);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST_F(Emulator, TellsWhatWasCached) {
  const std::string body = chat(2, {}, std::string(2100, 'x'));
  EXPECT_EQ(post(kChat, body).json()["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(post(kChat, body).json()["usage"]["prompt_tokens_details"]["cached_tokens"], 512);
  const std::string metrics = get("/metrics").body;
  EXPECT_EQ(metric(metrics, labelled("vllm:prefix_cache_hits_total")), 512);
  EXPECT_GT(metric(metrics, labelled("vllm:prefix_cache_queries_total")), 1024);
}

TEST_F(Emulator, StreamsRoleThenTokensThenReasonThenDone) {
  const Reply reply = post(kChat, chat(6, kStream));
  EXPECT_THAT(reply.content_type, StartsWith("text/event-stream"));
  const auto events = events_of(reply.body);
  ASSERT_EQ(events.size(), 9U);  // role, six tokens, reason, [DONE]
  EXPECT_EQ(events.front().json()["object"], "chat.completion.chunk");
  EXPECT_EQ(events.front().json()["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events.front().json()["choices"][0]["delta"]["content"], "");
  std::string text;
  for (std::size_t i = 1; i <= 6; ++i) {
    const auto choice = events[i].json()["choices"][0];
    EXPECT_TRUE(choice["finish_reason"].is_null());
    text += choice["delta"]["content"].get<std::string>();
  }
  EXPECT_EQ(events[7].json()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(events[8].data, "[DONE]");
  EXPECT_THAT(reply.body, Not(HasSubstr("usage")));
  // The same words as without a stream, multi-byte ones among them.
  EXPECT_EQ(text, post(kChat, chat(6)).json()["choices"][0]["message"]["content"].get<std::string>());
  EXPECT_TRUE(std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }));
}

TEST_F(Emulator, AddsAUsageChunkWhereAsked) {
  const auto events =
      events_of(post(kChat, chat(3, R"(,"stream":true,"stream_options":{"include_usage":true})")).body);
  const auto usage = events.at(events.size() - 2).json();
  EXPECT_TRUE(usage["choices"].is_array() && usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["prompt_tokens"], 7);
  EXPECT_EQ(usage["usage"]["completion_tokens"], 3);
  EXPECT_EQ(events.back().data, "[DONE]");
}

TEST_F(Emulator, EndsByItselfWithinTheNaturalLength) {
  const Reply reply = post("/v1/completions", R"({"model":"tiny","prompt":"once upon a time"})");
  const auto body = reply.json();
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_GE(body["usage"]["completion_tokens"], 32);
  EXPECT_LE(body["usage"]["completion_tokens"], 256);
  EXPECT_EQ(post("/v1/completions", R"({"model":"tiny","prompt":"once upon a time"})").json()["choices"],
            body["choices"]);
}

TEST_F(Emulator, StreamsCompletions) {
  const auto events = events_of(
      post("/v1/completions", R"({"model":"tiny","prompt":"a","max_tokens":2,"stream":true})").body);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].json()["choices"][0]["text"].get<std::string>().size(), 4U);
  EXPECT_EQ(events[2].json()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(events[3].data, "[DONE]");
}

TEST_F(Emulator, StreamsResponsesAsNamedNumberedEvents) {
  const Reply reply =
      post("/v1/responses", R"({"model":"tiny","input":"hi","max_output_tokens":2,"stream":true})");
  std::vector<std::string> names;
  int number = 0;
  for (const Event& event : events_of(reply.body)) {
    names.push_back(event.name);
    EXPECT_EQ(event.json()["type"].get<std::string>(), event.name);
    EXPECT_EQ(event.json()["sequence_number"], number++);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("response.created", "response.in_progress",
                                            "response.output_item.added", "response.content_part.added",
                                            "response.output_text.delta", "response.output_text.delta",
                                            "response.output_text.done", "response.content_part.done",
                                            "response.output_item.done", "response.completed"));
  const auto response = events_of(reply.body).back().json()["response"];
  EXPECT_EQ(response["usage"]["input_tokens"], 7);
  EXPECT_EQ(response["usage"]["output_tokens"], 2);
  EXPECT_EQ(response["output"][0]["content"][0]["text"].get<std::string>().size(), 8U);
  const auto whole = post("/v1/responses", R"({"model":"tiny","input":"hi","max_output_tokens":2})").json();
  EXPECT_EQ(whole["output"][0]["content"][0]["text"], response["output"][0]["content"][0]["text"]);
  EXPECT_EQ(whole["status"], "incomplete");
}

TEST_F(Emulator, StreamsMessagesAsAnthropicDoes) {
  const std::string body =
      R"({"model":"tiny","max_tokens":2,"messages":[{"role":"user","content":"hi"}],"stream":true})";
  const auto events = events_of(post("/v1/messages?beta=true", body).body);
  std::vector<std::string> names;
  for (const Event& event : events) names.push_back(event.name);
  EXPECT_THAT(names, ::testing::ElementsAre("message_start", "content_block_start", "content_block_delta",
                                            "content_block_delta", "content_block_stop", "message_delta",
                                            "message_stop"));
  EXPECT_EQ(events[0].json()["message"]["usage"]["input_tokens"], 7);
  EXPECT_EQ(events[5].json()["usage"]["output_tokens"], 2);
  EXPECT_EQ(events[5].json()["delta"]["stop_reason"], "max_tokens");
  EXPECT_EQ(events[6].json(), nlohmann::json::parse(R"({"type":"message_stop"})"));
}

TEST_F(Emulator, EmbedsEveryInput) {
  const auto floats =
      post("/v1/embeddings", R"({"model":"tiny","input":["one two","three"],"dimensions":8})").json();
  ASSERT_EQ(floats["data"].size(), 2U);
  EXPECT_EQ(floats["data"][1]["index"], 1);
  EXPECT_EQ(floats["data"][0]["embedding"].size(), 8U);
  EXPECT_EQ(floats["usage"]["prompt_tokens"], 4);
  const auto packed = post("/v1/embeddings",
                           R"({"model":"tiny","input":"one two","dimensions":8,"encoding_format":"base64"})")
                          .json();
  EXPECT_EQ(packed["data"][0]["embedding"].get<std::string>().size(), 44U);  // 32 bytes
}

TEST_F(Emulator, SaysWhatItServes) {
  const auto model = get("/v1/models").json()["data"][0];
  EXPECT_EQ(model["id"], "tiny");
  EXPECT_EQ(model["owned_by"], "vllm");
  EXPECT_EQ(model["max_model_len"], 2000);
  EXPECT_TRUE(get("/version").json()["version"].is_string());
  EXPECT_EQ(get("/health").status, 200U);
  EXPECT_EQ(get("/health").body, "");
  EXPECT_EQ(get("/nowhere").status, 404U);
  EXPECT_EQ(get(kChat).status, 405U);
}

TEST_F(Emulator, RefusesAsVllmDoes) {
  const Reply unknown = post(kChat, R"({"model":"other","messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(unknown.status, 404U);
  EXPECT_EQ(unknown.json()["error"]["type"], "NotFoundError");
  EXPECT_EQ(unknown.json()["error"]["code"], 404);
  const Reply long_prompt = post(kChat, chat(1999));
  EXPECT_EQ(long_prompt.status, 400U);
  EXPECT_THAT(long_prompt.json()["error"]["message"].get<std::string>(),
              HasSubstr("This model's maximum context length is 2000 tokens"));
  EXPECT_EQ(post(kChat, "{not json").status, 400U);
  const Reply anthropic = post("/v1/messages", R"({"model":"tiny","messages":[]})");
  EXPECT_EQ(anthropic.status, 400U);
  EXPECT_EQ(anthropic.json()["type"], "error");
}

TEST_F(Emulator, CountsInVllmsMetrics) {
  post(kChat, chat(5));
  post("/v1/completions", R"({"prompt":"abc"})");
  const Reply reply = get("/metrics");
  EXPECT_THAT(reply.content_type, StartsWith("text/plain"));
  const std::string& text = reply.body;
  EXPECT_EQ(metric(text, labelled("vllm:num_requests_running")), 0);
  EXPECT_EQ(metric(text, labelled("vllm:num_requests_waiting")), 0);
  EXPECT_EQ(metric(text, labelled("vllm:kv_cache_usage_perc")), 0);
  EXPECT_EQ(metric(text, labelled("vllm:prompt_tokens_total")), 8);
  EXPECT_GE(metric(text, labelled("vllm:generation_tokens_total")), 5 + 32);
  EXPECT_EQ(metric(text, labelled("vllm:request_success_total", R"(,finished_reason="length")")), 1);
  EXPECT_EQ(metric(text, labelled("vllm:request_success_total", R"(,finished_reason="stop")")), 1);
  EXPECT_EQ(metric(text, labelled("vllm:time_to_first_token_seconds_count")), 2);
  // 4,000 tokens are 250 blocks of 16.
  EXPECT_THAT(
      text, HasSubstr("vllm:cache_config_info{block_size=\"16\",enable_prefix_caching=\"True\",engine=\"0\","
                      "num_gpu_blocks=\"250\"} 1"));
}

TEST_F(Emulator, ServesManyRequestsOnOneConnection) {
  Client client(port());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(client.call("POST", kChat, chat(2, kStream)).status, 200U);
  EXPECT_EQ(client.call("GET", "/health").status, 200U);
}

TEST_F(Emulator, TakesALargeBody) {
  const std::string image(4'000'000, 'A');
  const std::string body =
      R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":")" + image +
      R"("}}]}],"max_tokens":1})";
  EXPECT_EQ(post(kChat, body).json()["usage"]["prompt_tokens"], 256 + 6);
}

class SlowEmulator : public ::testing::Test {
 protected:
  std::uint16_t port() const { return engine_.port(); }

 private:
  RunningEngine engine_{kSlow};
};

TEST_F(SlowEmulator, AbortsASequenceWhoseClientHasGone) {
  {
    Client leaves(port());
    leaves.send("POST", kChat, chat(1000, kStream));
    leaves.read_until("\r\n\r\n");  // the head goes out at admission
    const std::string busy = wait_for(port(), "vllm:num_requests_running", 1);
    EXPECT_GT(metric(busy, labelled("vllm:kv_cache_usage_perc")), 0);
  }
  const std::string idle = wait_for(port(), "vllm:num_requests_running", 0);
  EXPECT_EQ(metric(idle, labelled("vllm:kv_cache_usage_perc")), 0);
  EXPECT_EQ(metric(idle, labelled("vllm:request_success_total", R"(,finished_reason="abort")")), 1);
}

TEST_F(SlowEmulator, AbortsAtHalfCloseAndWithoutAStreamToo) {
  Client leaves(port());
  leaves.send("POST", kChat, chat(1000));
  wait_for(port(), "vllm:num_requests_running", 1);
  leaves.half_close();
  wait_for(port(), "vllm:num_requests_running", 0);
}

TEST_F(SlowEmulator, LetsThoseWaitWhoFindNoSeat) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    clients.back()->send("POST", kChat, chat(500));
  }
  wait_for(port(), "vllm:num_requests_waiting", 5);  // only the first is in the step under way
}

TEST_F(SlowEmulator, StopsInMidStream) {
  Client client(port());
  client.send("POST", kChat, chat(1000, kStream));
  client.read_until("\r\n\r\n");
}  // the engine is destroyed while the sequence runs

TEST_F(Emulator, ReportsAPortThatIsTaken) {
  boost::asio::io_context loop;
  EmulatedReplica replica{.name = "second",
                          .listen_host = "127.0.0.1",
                          .listen_port = port(),
                          .model = "tiny",
                          .deployment = deployment()};
  EmulatedEngine second(loop, replica);
  try {
    second.start();
    FAIL() << "two engines on one port";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith(fmt::format("cannot listen on 127.0.0.1:{}: ", port())),
                                    HasSubstr("in use")));
  }
}

TEST(EmulatedEngine, RefusesAReplicaThatCannotRun) {
  boost::asio::io_context loop;
  EmulatedReplica replica{.name = "r", .listen_host = "127.0.0.1", .model = "m", .deployment = deployment()};
  replica.time_scale = 0;
  EXPECT_THROW(EmulatedEngine(loop, replica), std::invalid_argument);
  replica.time_scale = 1;
  replica.deployment.capacity.kv_pool = {};
  EXPECT_THROW(EmulatedEngine(loop, replica), std::invalid_argument);
}

}  // namespace
}  // namespace fareway::emulator::testing
