#include "router/config/tls_files.hpp"

#include <cstddef>
#include <exception>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "adapters/tls/tls_contexts.hpp"

namespace fareway {
namespace {

/// Notes what `read` throws as a problem of that place.
template <class Read>
void note(std::vector<ConfigProblem>& problems, const ConfigPlace& place, Read read) {
  try {
    read();
  } catch (const std::exception& error) {
    problems.push_back({.line = place.line, .path = place.path, .what = error.what()});
  }
}

}  // namespace

void verify_tls_files(const Config& config) {
  std::vector<ConfigProblem> problems;
  for (std::size_t i = 0; i < config.tls.certificates.size(); ++i) {
    const TlsListener alone{.certificates = {config.tls.certificates[i]}};
    note(problems, config.tls_places.certificates[i], [&] { const TlsAcceptor read(alone); });
  }
  if (problems.empty() && config.tls.enabled()) {
    note(problems, config.tls_places.listener, [&] { const TlsAcceptor read(config.tls); });
  }
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < config.access.size(); ++i) {
    const std::optional<TlsUpstream>& tls = config.access[i].endpoint.tls;
    const std::size_t pool = config.fleet.replicas[i].pool.value;
    if (!tls || !seen.insert(pool).second) continue;
    note(problems, config.tls_places.pools[pool], [&] { const TlsConnector read(*tls); });
  }
  if (!problems.empty()) throw ConfigError(config.file, std::move(problems));
}

}  // namespace fareway
