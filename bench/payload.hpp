#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fareway::bench {

/// What the load client asks of the mock engine. It stands in the request itself (in its first words, and as
/// `max_tokens`), so the engine needs no settings and no two requests are alike.
struct Ask {
  std::uint64_t number{0};
  std::chrono::microseconds interval{0};  ///< between two events of a stream
  std::uint32_t events{1};                ///< of a stream, the last ones (finish, usage, [DONE]) not counted
  bool stream{false};
  bool usage{false};
};

/// Chat completion requests of `bytes` bytes, with a blank for the number (see `Form`).
std::string request_body(const Ask& ask, std::size_t bytes);
/// Nothing where the body is not one of ours.
std::optional<Ask> read_ask(std::string_view body);

// What the engine answers, with blanks for the number and, in an event, for the time it is sent. The client
// expects these very bytes.
std::string plain_answer();
std::string stream_event();
std::string stream_end(bool usage);

/// One chunk of the chunked transfer coding.
std::string as_chunk(std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace fareway::bench
