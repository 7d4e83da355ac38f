#pragma once

#include <string>
#include <string_view>

#include "adapters/emulator/emulation.hpp"

namespace fareway::emulator {

struct PlainAnswer {
  unsigned status{200};
  std::string content_type{"application/json"};
  std::string body{};
};

/// Everything that puts no work on the engine: models, health, metrics, version, faults, and paths that do
/// not exist. `listen` is kept for as long as a fault that it sets is in force.
PlainAnswer answer_plainly(Emulation& emulation, const Emulation::Listen& listen, std::string_view method,
                           std::string_view path, std::string_view body);

/// vLLM's exposition, as far as anybody schedules by it.
std::string metrics_text(const Emulation& emulation);

}  // namespace fareway::emulator
