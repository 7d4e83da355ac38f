#pragma once

#include "router/config/config.hpp"

namespace fareway {

/// Reads every certificate, key and authority that the configuration names, as the gateway will. Throws
/// ConfigError with all that are not in order.
void verify_tls_files(const Config& config);

}  // namespace fareway
