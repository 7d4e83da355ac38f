#include "adapters/emulator/endpoints.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace fareway::emulator {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kVersion = "0.24.0";  // the vLLM whose answers these are

PlainAnswer models(const Emulation& emulation) {
  const Json model{{"id", emulation.replica().model},
                   {"object", "model"},
                   {"created", emulation.started_at()},
                   {"owned_by", "vllm"},
                   {"root", emulation.replica().model},
                   {"parent", nullptr},
                   {"max_model_len", emulation.engine().batch().limits().context.value},
                   {"permission", Json::array()}};
  return {.body = Json{{"object", "list"}, {"data", Json::array({model})}}.dump()};
}

PlainAnswer health(const Emulation& emulation) {
  return {.status = emulation.faults().is(Fault::Kind::kUnhealthy) ? 503U : 200U, .content_type = {}};
}

PlainAnswer set_fault(Emulation& emulation, const Emulation::Listen& listen, std::string_view body) {
  const auto fault = read_fault(body);
  if (!fault) return {.status = 400, .body = Json{{"error", fault.error()}}.dump()};
  emulation.set_fault(*fault, listen);
  return {.body = R"({"fault":"set"})"};
}

PlainAnswer clear_fault(Emulation& emulation) {
  emulation.clear_fault();
  return {.body = R"({"fault":"none"})"};
}

constexpr std::array<std::string_view, 5> kPlainPaths{"/v1/models", "/health", "/metrics", "/version",
                                                      "/emulator/fault"};

}  // namespace

PlainAnswer answer_plainly(Emulation& emulation, const Emulation::Listen& listen, std::string_view method,
                           std::string_view path, std::string_view body) {
  if (method == "GET") {
    if (path == "/v1/models") return models(emulation);
    if (path == "/health") return health(emulation);
    if (path == "/version") return {.body = Json{{"version", kVersion}}.dump()};
    if (path == "/metrics")
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_text(emulation)};
  }
  if (path == "/emulator/fault" && method == "POST") return set_fault(emulation, listen, body);
  if (path == "/emulator/fault" && method == "DELETE") return clear_fault(emulation);
  const bool exists = api_at(path) || std::ranges::count(kPlainPaths, path) > 0;
  return exists ? PlainAnswer{.status = 405, .body = R"({"detail":"Method Not Allowed"})"}
                : PlainAnswer{.status = 404, .body = R"({"detail":"Not Found"})"};
}

}  // namespace fareway::emulator
