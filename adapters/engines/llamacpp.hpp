#pragma once

#include "adapters/engines/engine.hpp"

namespace fareway {

/// llama.cpp's llama-server, started with --metrics.
///
/// Its metrics have six significant digits, so `generated_tokens` moves in steps above a million. A server
/// that sleeps
/// (--sleep-idle-seconds) wakes at its next request; it is not reported as asleep, or it never would.
class LlamaCpp final : public EngineAdapter {
 public:
  std::string_view name() const noexcept override { return "llamacpp"; }
  std::string_view health_path() const noexcept override { return "/health"; }
  std::string_view load_path() const noexcept override { return "/metrics"; }
  ProbeResult<LoadReading> read_load(std::string_view body) const override;
  std::string explain(unsigned status, std::string_view body) const override;
  std::string_view capacity_path() const noexcept override { return "/props"; }
  /// Slots, and KV capacity as slots × context of one slot. A server with a unified cache (--kv-unified)
  /// shares one context among its slots and does not say so here: its capacity reads too large.
  void read_capacity(std::string_view body, LoadReading& into) const override;
};

}  // namespace fareway
