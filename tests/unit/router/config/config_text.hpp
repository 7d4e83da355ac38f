#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "router/config/config.hpp"

namespace fareway::testing {

/// A small valid configuration; tests replace or insert a piece of it.
inline std::string small_config() {
  return R"(listen: "127.0.0.1:0"
models:
  - name: llama
    total_parameters: 8000000000
    active_parameters: 8000000000
    layers: 32
    hidden_size: 4096
    kv_heads: 8
    kv_per_token: 128KiB
    attention_flops_per_pair: 524288
    context_limit: 131072
deployments:
  - name: llama-mi300x
    model: llama
    device: MI300X
    format: bf16
    weights: 16GB
pools:
  - name: west
    device: MI300X
    capacity: on_demand
    usd_per_device_hour: 2.50
    replicas:
      - {name: west-1, engine: vllm, endpoint: "http://10.0.0.1:8000", deployment: llama-mi300x}
tenants:
  - name: product
    keys:
      - id: web
        sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        default_class: standard
)";
}

/// `text` with the only occurrence of `from` replaced.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    ADD_FAILURE() << "not there exactly once: " << from;
    return text;
  }
  return text.replace(at, from.size(), to);
}

/// The whole message of the error that `text` causes; empty, and a failure, where it causes none.
inline std::string error_of(const std::string& text) {
  try {
    parse_config(text, "test.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error from:\n" << text;
  return {};
}

/// The error of the small configuration with one piece replaced.
inline std::string error_with(std::string_view from, std::string_view to) {
  return error_of(replaced(small_config(), from, to));
}

}  // namespace fareway::testing
