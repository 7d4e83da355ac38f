#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fareway::bench {

/// Value of a header field, without regard to case; empty where it is absent. `head`: lines that end in CRLF.
std::string_view header_value(std::string_view head, std::string_view name);

/// Reads one HTTP/1.1 reply as its bytes come: by Content-Length or in chunks, never until close.
class ReplyReader {
 public:
  enum class State { kHead, kBody, kDone, kBroken };

  void reset();
  /// Takes what belongs to the next piece of body from the front of `bytes` and returns that piece, which may
  /// be empty. Call it until `bytes` is empty or the reply is done or broken.
  std::string_view take(std::string_view& bytes);

  State state() const { return state_; }
  int status() const { return status_; }
  bool keep_alive() const { return keep_alive_; }

 private:
  enum class Chunk { kNone, kSize, kData, kDataEnd, kLastEnd };

  void take_head(std::string_view& bytes);
  void begin_body();
  void take_line(std::string_view& bytes);
  void end_line();

  State state_{State::kHead};
  Chunk chunk_{Chunk::kNone};
  std::string line_;  // the head, or a line of chunk framing, as far as it has come
  std::uint64_t left_{0};
  int status_{0};
  bool keep_alive_{true};
};

}  // namespace fareway::bench
