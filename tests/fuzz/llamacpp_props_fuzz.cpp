// Any bytes as llama.cpp's /props, or as an error answer of it.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/reading_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fareway;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const EngineAdapter& llamacpp = *find_engine("llamacpp");

  LoadReading reading;
  llamacpp.read_capacity(body, reading);
  fuzz::check_reading(reading);
  FUZZ_CHECK(!reading.kv_capacity || reading.seats);

  for (const unsigned status : {404U, 501U, 503U}) llamacpp.explain(status, body);
  return 0;
}
