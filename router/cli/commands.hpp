#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "adapters/stores/ledger_report.hpp"

namespace fareway {

// One function a command of the `fareway` program. Each returns the process's exit code: 0 done, 1 failed at
// run time. Each throws std::exception for what stops it before it began; `main` prints it and exits with 2
// for a ConfigError, with 1 otherwise.

/// Checks a configuration file and says what it found; warnings go to stdout, problems are thrown.
int check(const std::filesystem::path& config_file);

/// Runs the gateway until SIGINT or SIGTERM. The first signal drains, the second one cuts.
int serve(const std::filesystem::path& config_file);

/// Runs emulated engines at the endpoints of the configured replicas, of all pools or of those named.
int emulate(const std::filesystem::path& config_file, const std::vector<std::string>& pools);

struct ReportOptions {
  std::filesystem::path ledger_file;
  ReportKey by{ReportKey::kTenant};
  std::string since;  ///< "24h", "7d", "2026-11-30" or "2026-11-30T12:00:00Z"; empty: from the beginning
  std::string until;  ///< the same; empty: to the end
  bool json{false};
};
int print_report(const ReportOptions& options);

}  // namespace fareway
