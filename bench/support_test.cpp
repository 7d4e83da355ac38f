// The benchmark is worth what its checks are worth: what they must notice, and what they must let through.

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/body_check.hpp"
#include "bench/form.hpp"
#include "bench/histogram.hpp"
#include "bench/payload.hpp"
#include "bench/reply_reader.hpp"

namespace fareway::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const Instant kSent{std::chrono::nanoseconds{1234567890123}};
constexpr std::uint64_t kNumber = 42;

std::string filled(std::string with_blanks) {
  Form form{std::move(with_blanks)};
  form.fill_number(kNumber);
  if (form.has_stamp()) form.fill_stamp(kSent);
  return std::string(form.text());
}

/// A stream of two events, as the engine sends it.
std::string two_events() {
  return filled(stream_event()) + filled(stream_event()) + filled(stream_end(true));
}

BodyCheck check_of_two_events() {
  BodyCheck check{{.events = 2, .stream = true, .usage = true}};
  check.begin(kNumber);
  return check;
}

TEST(RequestBody, CarriesWhatIsAskedAndHasTheSizeWanted) {
  const Ask ask{.interval = std::chrono::microseconds{20'000}, .events = 100, .stream = true, .usage = true};
  const std::string body = filled(request_body(ask, 2048));
  EXPECT_THAT(body, SizeIs(2048));
  const std::optional<Ask> read = read_ask(body);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, kNumber);
  EXPECT_EQ(read->interval, ask.interval);
  EXPECT_EQ(read->events, 100U);
  EXPECT_TRUE(read->stream);
  EXPECT_TRUE(read->usage);
}

TEST(RequestBody, IsUnderstoodAlsoWithSpacesAndOtherMembers) {
  const std::optional<Ask> read = read_ask(
      R"({"stream": false, "max_tokens": 7, "messages":[{"content":"[bench 00000000000000000009 0] hi"}]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, 9U);
  EXPECT_EQ(read->events, 7U);
  EXPECT_FALSE(read->stream);
  EXPECT_FALSE(read_ask(R"({"stream":true,"messages":[{"content":"hello"}]})"));
}

TEST(BodyCheck, TakesAStreamInPiecesOfAnySizeAndReadsItsTimes) {
  const std::string stream = two_events();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{150}, stream.size()}) {
    BodyCheck check = check_of_two_events();
    std::vector<Instant> times;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      ASSERT_TRUE(check.take(std::string_view(stream).substr(at, piece), times)) << "pieces of " << piece;
    }
    EXPECT_TRUE(check.complete());
    EXPECT_THAT(times, ElementsAre(kSent, kSent));
  }
}

TEST(BodyCheck, RefusesAnyChangedByte) {
  const std::string stream = two_events();
  for (std::size_t at = 0; at < stream.size(); ++at) {
    std::string changed = stream;
    changed[at] = '!';
    BodyCheck check = check_of_two_events();
    std::vector<Instant> times;
    EXPECT_FALSE(check.take(changed, times)) << "byte " << at;
  }
}

TEST(BodyCheck, RefusesALostEventARepeatedOneAndBytesAfterTheEnd) {
  const std::string event = filled(stream_event());
  const std::string end = filled(stream_end(true));
  for (const std::string& wrong : {event + end, event + event + event + end, event + event + end + "x"}) {
    BodyCheck check = check_of_two_events();
    std::vector<Instant> times;
    EXPECT_FALSE(check.take(wrong, times));
  }
}

TEST(BodyCheck, IsNotCompleteWithoutTheLastByte) {
  std::string cut = two_events();
  cut.pop_back();
  BodyCheck check = check_of_two_events();
  std::vector<Instant> times;
  EXPECT_TRUE(check.take(cut, times));
  EXPECT_FALSE(check.complete());
}

TEST(BodyCheck, RefusesTheAnswerToAnotherRequest) {
  BodyCheck check{Ask{}};
  check.begin(kNumber + 1);
  std::vector<Instant> times;
  EXPECT_FALSE(check.take(filled(plain_answer()), times));
}

/// The body of a whole reply that comes in pieces of `piece` bytes.
std::string body_of(ReplyReader& reader, std::string_view reply, std::size_t piece) {
  std::string body;
  for (std::size_t at = 0; at < reply.size(); at += piece) {
    std::string_view bytes = reply.substr(at, piece);
    while (!bytes.empty() && reader.state() < ReplyReader::State::kDone) body += reader.take(bytes);
    if (!bytes.empty()) break;
  }
  return body;
}

TEST(ReplyReader, ReadsByLengthAndInChunksHoweverTheBytesCome) {
  const std::string by_length = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + as_chunk("hel") +
                              as_chunk("lo") + "0\r\n\r\n";
  for (std::size_t piece = 1; piece <= chunked.size(); ++piece) {
    ReplyReader reader;
    EXPECT_EQ(body_of(reader, by_length, piece), "hello");
    EXPECT_EQ(reader.state(), ReplyReader::State::kDone);
    EXPECT_FALSE(reader.keep_alive());
    reader.reset();
    EXPECT_EQ(body_of(reader, chunked, piece), "hello");
    EXPECT_EQ(reader.state(), ReplyReader::State::kDone);
    EXPECT_TRUE(reader.keep_alive());
    EXPECT_EQ(reader.status(), 200);
  }
}

TEST(ReplyReader, NoticesBrokenFraming) {
  for (const std::string_view broken : {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
                                        "HTTP/1.1 200 OK\r\n\r\nuntil close", "SSH-2.0-OpenSSH\r\n\r\n"}) {
    ReplyReader reader;
    body_of(reader, broken, broken.size());
    EXPECT_EQ(reader.state(), ReplyReader::State::kBroken) << broken;
  }
}

TEST(Histogram, TellsPercentilesToTwoPercentAndNothingOfNothing) {
  Histogram times;
  EXPECT_EQ(times.microseconds_at(0.5), std::nullopt);
  for (int i = 1; i <= 1000; ++i) times.add(std::chrono::microseconds{i});
  EXPECT_NEAR(times.microseconds_at(0.50).value(), 500, 10);
  EXPECT_NEAR(times.microseconds_at(0.99).value(), 990, 20);
}

}  // namespace
}  // namespace fareway::bench
