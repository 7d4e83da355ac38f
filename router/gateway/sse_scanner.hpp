#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "router/gateway/answer_facts.hpp"

namespace fareway {

/// Reads an event stream as it is relayed: finds where events end, whatever the reads cut, and says which
/// bytes may go on.
///
/// Only whole events (and whole comment lines) are handed on, so a stream that breaks off never shows half an
/// event, an unwanted usage chunk can be kept back, and the last event can wait for the ledger. An event
/// larger than 1 MiB is handed on uninspected, as it comes. Lines end in LF or CR LF; a lone CR ends nothing.
class SseScanner {
 public:
  enum class UsageChunk { kRelay, kRemove };

  /// `reading` outlives the scanner.
  SseScanner(AnswerReading& reading, UsageChunk usage_chunk) : reading_(reading), usage_chunk_(usage_chunk) {}

  /// Takes the next bytes. `ready()` and `held()` are then what they let go, valid until the next call and as
  /// long as `bytes` live.
  void feed(std::string_view bytes);
  /// The stream ended: an event without its blank line counts as one.
  void finish();

  /// To be relayed at once.
  const std::vector<std::string_view>& ready() const { return ready_; }
  /// The terminal event and all after it: to be relayed once the request is settled.
  const std::vector<std::string_view>& held() const { return held_; }

  const AnswerFacts& facts() const { return facts_; }
  /// An event (not a comment) has been seen.
  bool begun() const { return begun_; }
  /// The bytes let go end within an event.
  bool mid_event() const { return oversized_; }

 private:
  std::size_t complete_carried(std::string_view bytes);
  std::size_t pass_oversized(std::string_view bytes);
  bool end_line(std::string_view line, bool first);
  void release(std::string_view unit);
  void let_go(std::string_view bytes);
  bool inspect(std::string_view unit);

  AnswerReading& reading_;
  UsageChunk usage_chunk_;
  AnswerFacts facts_;
  std::string carry_;           // an event that is not whole yet
  std::size_t carry_line_{0};   // where its last, unfinished line begins
  std::string released_carry_;  // the carried event let go last, alive until the next call
  bool oversized_{false};       // within an event too large to keep
  bool line_has_bytes_{false};  // of the unfinished line of an oversized event
  bool begun_{false};
  std::vector<std::string_view> ready_;
  std::vector<std::string_view> held_;
};

}  // namespace fareway
