// Any bytes as a request body, for every API: the facts are views into the body, and the splice fits it.
#include <cstddef>
#include <cstdint>

#include "router/gateway/shape.hpp"
#include "tests/fuzz/check.hpp"

namespace {

using namespace fareway;

void check(Api api, std::string_view input, ShapeReader& reader) {
  std::string body;
  body.reserve(input.size() + simdjson::SIMDJSON_PADDING);
  body = input;
  const auto facts = reader.read(api, body);
  FUZZ_CHECK(body == input);
  if (!facts) return;
  FUZZ_CHECK(!facts->output_limit || facts->output_limit->value >= 0);
  FUZZ_CHECK(facts->prompt_bytes <= 4 * input.size());
  if (facts->ask_for_usage) {
    const Splice& splice = *facts->ask_for_usage;
    FUZZ_CHECK(splice.offset <= body.size() && splice.removed <= body.size() - splice.offset);
  }
  FUZZ_CHECK(reader.prefix(1) == reader.prefix(1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ShapeReader reader;  // reused, as the gateway does
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const Api api : {Api::kChat, Api::kCompletions, Api::kEmbeddings, Api::kResponses, Api::kMessages}) {
    check(api, input, reader);
  }
  return 0;
}
