// Any bytes as a metrics page: the parser stays inside the page, and no adapter lets a wild number through.
#include <cstddef>
#include <cstdint>

#include "adapters/engines/prometheus_text.hpp"
#include "tests/fuzz/reading_check.hpp"

namespace {

using namespace fareway;

bool lies_within(std::string_view part, std::string_view page) {
  return part.empty() ||
         (part.data() >= page.data() && part.data() + part.size() <= page.data() + page.size());
}

void check_sample(const PrometheusSample& sample, std::string_view page) {
  FUZZ_CHECK(!sample.name.empty());
  FUZZ_CHECK(lies_within(sample.name, page));
  FUZZ_CHECK(lies_within(sample.label_text, page));
  for (const PrometheusLabel& label : sample.labels) {
    FUZZ_CHECK(!label.name.empty());
    FUZZ_CHECK(lies_within(label.escaped_value, page));
    FUZZ_CHECK(sample.label(label.name).has_value());
    FUZZ_CHECK(unescape_label(label.escaped_value).size() <= label.escaped_value.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view page(reinterpret_cast<const char*>(data), size);
  std::size_t shown = 0;
  const PrometheusPage summary = read_prometheus_text(page, [&](const PrometheusSample& sample) {
    ++shown;
    check_sample(sample, page);
  });
  FUZZ_CHECK(summary.samples == shown);

  for (const char* name : {"vllm", "llamacpp"}) {
    const auto reading = find_engine(name)->read_load(page);
    if (reading) {
      fuzz::check_reading(*reading);
    } else {
      FUZZ_CHECK(!reading.error().what.empty());
    }
  }
  return 0;
}
