// Any bytes as a configuration file: it is read, or refused with at least one problem that says what is
// wrong.
#include <cstddef>
#include <cstdint>

#include "router/config/config.hpp"
#include "tests/fuzz/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fareway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Config config = parse_config(text, "fuzz.yaml");
    FUZZ_CHECK(config.access.size() == config.fleet.replicas.size());
    FUZZ_CHECK(config.price_schedules.size() == config.fleet.pools.size());
    config_warnings(config);
  } catch (const ConfigError& error) {
    FUZZ_CHECK(!error.problems().empty());
    for (const ConfigProblem& problem : error.problems()) FUZZ_CHECK(!problem.what.empty());
  }
  return 0;
}
