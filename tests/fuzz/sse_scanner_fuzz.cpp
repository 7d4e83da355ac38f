// Any bytes as an event stream: nothing is lost, added or reordered, and how the reads cut it changes
// nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>

#include "router/gateway/sse_scanner.hpp"
#include "tests/fuzz/check.hpp"

namespace {

using namespace fareway;

struct Scanned {
  std::string ready;
  std::string held;
  AnswerFacts facts;
};

void collect(const SseScanner& scanner, Scanned& into) {
  for (const std::string_view bytes : scanner.ready()) into.ready += bytes;
  for (const std::string_view bytes : scanner.held()) into.held += bytes;
}

/// Feeds `stream` in pieces of 1 to `largest_piece` bytes.
Scanned scan(std::string_view stream, SseScanner::UsageChunk usage_chunk, std::size_t largest_piece) {
  static AnswerReading reading;  // shared by all answers of a thread
  std::minstd_rand random(static_cast<unsigned>(stream.size()));
  SseScanner scanner(reading, usage_chunk);
  Scanned scanned;
  while (!stream.empty()) {
    const std::size_t piece = std::min<std::size_t>(stream.size(), 1 + random() % largest_piece);
    const std::string copy(stream.substr(0, piece));  // as a read buffer, which is gone afterwards
    scanner.feed(copy);
    collect(scanner, scanned);
    stream.remove_prefix(piece);
  }
  scanner.finish();
  collect(scanner, scanned);
  scanned.facts = scanner.facts();
  return scanned;
}

bool same_facts(const AnswerFacts& a, const AnswerFacts& b) {
  return a.usage == b.usage && a.deltas == b.deltas && a.error == b.error &&
         a.error_status == b.error_status && a.aborted == b.aborted && a.terminal == b.terminal &&
         a.open_choices == b.open_choices && a.finished_choices == b.finished_choices;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using UsageChunk = SseScanner::UsageChunk;
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  for (const UsageChunk usage_chunk : {UsageChunk::kRelay, UsageChunk::kRemove}) {
    const Scanned whole = scan(stream, usage_chunk, std::max<std::size_t>(size, 1));
    const Scanned bytes = scan(stream, usage_chunk, 1);
    const Scanned pieces = scan(stream, usage_chunk, 40);
    if (usage_chunk == UsageChunk::kRelay) FUZZ_CHECK(whole.ready + whole.held == stream);
    for (const Scanned* other : {&bytes, &pieces}) {
      FUZZ_CHECK(other->ready == whole.ready && other->held == whole.held);
      FUZZ_CHECK(same_facts(other->facts, whole.facts));
    }
  }
  return 0;
}
