#include "adapters/engines/engine.hpp"

#include <array>

#include "adapters/engines/llamacpp.hpp"
#include "adapters/engines/vllm.hpp"

namespace fareway {
namespace {

const std::array<const EngineAdapter*, 2>& all_engines() {
  static const Vllm vllm;
  static const LlamaCpp llamacpp;
  static const std::array<const EngineAdapter*, 2> engines{&vllm, &llamacpp};
  return engines;
}

}  // namespace

std::string Endpoint::authority() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

const EngineAdapter* find_engine(std::string_view name) {
  for (const EngineAdapter* engine : all_engines()) {
    if (engine->name() == name) return engine;
  }
  return nullptr;
}

std::string engine_names() {
  std::string names;
  for (const EngineAdapter* engine : all_engines()) {
    if (!names.empty()) names += ", ";
    names += engine->name();
  }
  return names;
}

}  // namespace fareway
