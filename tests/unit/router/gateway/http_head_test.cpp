#include "router/gateway/http_head.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fareway {
namespace {

using ::testing::HasSubstr;

struct ReadAnswer {
  unsigned status{};
  std::string body;
  bool done{};
  bool failed{};
};

/// Feeds an answer in pieces, keeping what the reader leaves, as a connection does.
ReadAnswer read(std::string_view bytes, std::size_t piece, bool then_end = false) {
  AnswerReader reader;
  ReadAnswer result;
  std::string pending;
  while (!bytes.empty() && !reader.done() && !reader.failed()) {
    pending += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (std::size_t taken = 1; taken > 0 && !pending.empty() && !reader.done();) {
      std::vector<std::string_view> body;
      taken = reader.feed(pending, body);
      for (const auto part : body) result.body += part;
      pending.erase(0, taken);
    }
  }
  result.status = reader.status();
  result.done = reader.done() || (then_end && reader.end_of_input());
  result.failed = reader.failed();
  return result;
}

TEST(AnswerReader, ReadsChunksInWhateverPieces) {
  const std::string answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: "
      "x\r\n\r\n";
  for (std::size_t piece = 1; piece <= answer.size(); ++piece) {
    const ReadAnswer seen = read(answer, piece);
    ASSERT_EQ(seen.body, "hello!") << piece;
    ASSERT_TRUE(seen.done) << piece;
  }
}

TEST(AnswerReader, AcceptsAStatusLineWithoutReason) {
  for (const std::size_t piece : {1u, 13u, 14u, 100u}) {
    const ReadAnswer seen = read("HTTP/1.1 200\r\ncontent-length: 2\r\n\r\n{}", piece);
    EXPECT_EQ(seen.status, 200u);
    EXPECT_EQ(seen.body, "{}");
    EXPECT_TRUE(seen.done);
  }
}

TEST(AnswerReader, SkipsInterimAnswersButNotForEver) {
  const std::string early = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  EXPECT_EQ(read(early + "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 1000).status, 204u);
  std::string endless;
  for (int i = 0; i < 100; ++i) endless += early;
  EXPECT_TRUE(read(endless, 1000).failed);
  EXPECT_TRUE(read("HTTP/1.1 101 Switching Protocols\r\n\r\n", 1000).failed);
}

TEST(AnswerReader, TellsAProperEndFromACutOne) {
  EXPECT_TRUE(read("HTTP/1.0 200 OK\r\n\r\nbody", 3, true).done);
  EXPECT_FALSE(read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody", 3, true).done);
  EXPECT_FALSE(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n", 3, true).done);
  EXPECT_FALSE(read("HTTP/1.1 200 OK\r\nContent-", 3, true).done);
}

TEST(AnswerReader, RefusesTwoFramingsAndEndlessHeads) {
  EXPECT_TRUE(
      read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
           1000)
          .failed);
  std::string endless = "HTTP/1.1 200 OK\r\n";
  while (endless.size() < 2 * kMaxHeadBytes) endless += "X-Field: value\r\n";
  EXPECT_TRUE(read(endless, 1000).failed);
}

TEST(RequestReader, CountsAHeadOfManySmallFieldsAgainstItsLimit) {
  RequestReader reader(100);
  std::string pending = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (std::size_t sent = 0; sent < 2 * kMaxHeadBytes && !reader.refusal(); sent += 16) {
    pending += "X-Field: value\r\n";
    pending.erase(0, reader.feed(pending));
  }
  ASSERT_TRUE(reader.refusal());
  EXPECT_EQ(reader.refusal()->status, 431);
}

TEST(RequestReader, TakesExactlyOneRequestOffAPipeline) {
  const std::string one = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
  RequestReader reader(100);
  std::string input = one + one;
  while (!reader.done()) input.erase(0, reader.feed(input));
  EXPECT_EQ(input, one);
  EXPECT_EQ(reader.take_body(), "{}");
  EXPECT_EQ(reader.head().target, "/v1/completions");
}

TEST(RequestReader, TakesOnePlainNumberAsLength) {
  RequestReader reader(100);
  reader.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\n\r\n");
  ASSERT_TRUE(reader.refusal());
  EXPECT_THAT(reader.refusal()->message, HasSubstr("Content-Length"));
}

}  // namespace
}  // namespace fareway
