#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "adapters/tls/tls_settings.hpp"
#include "placement/fleet.hpp"

namespace fareway {

/// Where a replica listens. Comes from configuration only, never from a request.
struct Endpoint {
  std::string host;  ///< name or address, IPv6 without brackets
  std::uint16_t port{};
  std::string api_key;               ///< sent as a bearer token where not empty; never logged
  std::optional<TlsUpstream> tls{};  ///< nothing: plain HTTP

  std::string authority() const;  ///< "host:port", IPv6 in brackets
};

/// What went wrong with an engine's answer to a probe, in words for an operator; never the answer itself.
struct ProbeError {
  std::string what;
  /// The engine is up, only its load could not be read: keep it in rotation, its load unknown.
  bool healthy{false};
};
template <class T>
using ProbeResult = boost::system::result<T, ProbeError>;

/// What one kind of inference server exposes of its state. Stateless: paths to ask, and parsers of what comes
/// back.
class EngineAdapter {
 public:
  virtual ~EngineAdapter() = default;
  virtual std::string_view name() const noexcept = 0;  // as in the configuration: "vllm", "llamacpp"
  virtual std::string_view health_path() const noexcept = 0;
  virtual std::string_view load_path() const noexcept = 0;
  /// Reads the body of a 200 answer to `load_path`. Refuses what is not this engine's; every number has
  /// passed a gate.
  virtual ProbeResult<LoadReading> read_load(std::string_view body) const = 0;
  /// What an answer other than 2xx means, in words for an operator; empty where the status alone says it.
  virtual std::string explain(unsigned /*status*/, std::string_view /*body*/) const { return {}; }
  /// Path whose answer tells capacity where `load_path` does not (llama.cpp: "/props"); empty: none.
  virtual std::string_view capacity_path() const noexcept { return {}; }
  virtual void read_capacity(std::string_view /*body*/, LoadReading& /*into*/) const {}
};

/// The adapter of that name; nothing where there is none. Lives as long as the process.
const EngineAdapter* find_engine(std::string_view name);
/// Names of all adapters, comma-separated, for messages.
std::string engine_names();

}  // namespace fareway
