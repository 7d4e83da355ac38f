#pragma once

#include "adapters/engines/engine.hpp"

namespace fareway {

/// vLLM and what emulates its metrics page, V0 to V1, Python and Rust front ends.
///
/// Sums over data-parallel ranks (label `engine`) and nothing else: series of one rank that differ in another
/// label, such as `pid`, are copies, of which the largest counts. A total is known only when every rank said
/// its part.
class Vllm final : public EngineAdapter {
 public:
  std::string_view name() const noexcept override { return "vllm"; }
  std::string_view health_path() const noexcept override { return "/health"; }
  std::string_view load_path() const noexcept override { return "/metrics"; }
  ProbeResult<LoadReading> read_load(std::string_view body) const override;
  std::string explain(unsigned status, std::string_view body) const override;
};

}  // namespace fareway
