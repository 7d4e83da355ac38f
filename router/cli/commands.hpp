#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "adapters/stores/ledger_report.hpp"

namespace fareway {

// One function a command of the `fareway` program. Each returns the process's exit code: 0 done, 1 failed at
// run time. Each throws std::exception for what stops it before it began; `main` prints it and exits with 2
// for a ConfigError or a UsageError, with 1 otherwise.

/// A question that cannot be answered as it was asked; one line a problem, each with its option.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Checks a configuration file and says what it found; warnings go to stdout, problems are thrown.
int check(const std::filesystem::path& config_file);

/// Runs the gateway until SIGINT or SIGTERM. The first signal drains, the second one cuts.
/// 3 where answers that were still open had to be cut.
int serve(const std::filesystem::path& config_file);

/// Runs emulated engines at the endpoints of the configured replicas, of all pools or of those named.
int emulate(const std::filesystem::path& config_file, const std::vector<std::string>& pools);

/// Prints why a request went where it went: one paragraph, then every candidate's dollars. `admin_url`: of
/// the running gateway; empty: its default address.
int explain_decision(const std::string& request_id, const std::string& admin_url);

struct ExplainOptions {
  std::filesystem::path request_file;  ///< a request body; "-": standard input
  std::string path{"/v1/chat/completions"};
  std::string key;            ///< id of a key, never the key itself; empty: the first
  std::string service_class;  ///< as in x-fareway-class
  std::string session;        ///< as in x-session-id
  std::string admin;          ///< of a running gateway; without it and with `config_file`: an idle fleet
  std::filesystem::path config_file;
};
/// The same for a request that is not sent: on the fleet of a running gateway, or on an idle one.
int explain_request(const ExplainOptions& options);

struct ReportOptions {
  std::filesystem::path ledger_file;
  ReportKey by{ReportKey::kTenant};
  std::string since;  ///< "24h", "7d", "2026-11-30" or "2026-11-30T12:00:00Z"; empty: from the beginning
  std::string until;  ///< the same; empty: to the end
  bool json{false};
};
int print_report(const ReportOptions& options);

/// Nothing: not given, and the default depends on the rest.
struct CapacityOptions {
  std::filesystem::path config_file;  ///< whose models and devices are known too; empty: the catalogue's only
  std::string model;
  std::string device;
  std::optional<std::int64_t> devices;
  std::optional<std::int64_t> tp;
  std::int64_t pp{1};
  std::int64_t ep{1};
  std::int64_t dp{1};
  std::int64_t dcp{1};
  std::int64_t context{0};  ///< tokens
  std::string format;       ///< of the checkpoint; empty: the publisher's own
  std::string kv_dtype{"bf16"};
  std::optional<double> reserve_gib;
  double utilisation{1.0};
  std::string engine;
  std::string engine_version;
  bool json{false};
};
/// What fits, as one would work it out on a whiteboard. Returns 0 whether it fits or not.
int print_capacity(const CapacityOptions& options);

struct SpeedOptions {
  std::string model;
  std::string deployment;   ///< as placement/speed/deployment_text.hpp has it
  std::int64_t context{0};  ///< tokens of each sequence
  std::int64_t batch{1};    ///< sequences
  bool json{false};
};
/// How fast a deployment decodes and prefills, by part, with the tier it rests on and its error.
int print_speed(const SpeedOptions& options);

struct CompareOptions {
  std::string model;
  std::string deployments;           ///< separated by commas
  std::filesystem::path price_file;  ///< empty: the catalogue's example prices
  std::string slo;                   ///< "tpot=40ms,ttft=2s", either or both; empty: none
  std::int64_t input_tokens{8192};
  std::int64_t output_tokens{1024};
  std::filesystem::path svg_file;  ///< empty: no chart
  bool json{false};
};
/// Which deployment serves a model for the fewest dollars, at the asked speed and at every other.
int print_comparison(const CompareOptions& options);

struct SimulateOptions {
  std::string suite{"placement"};  ///< or "elastic"
  std::filesystem::path data;      ///< folder of the recorded traces; empty: a generated trace
  std::string trace;               ///< only this one of them; empty: all, and their mix
  std::filesystem::path svg;       ///< folder for the attainment curves; empty: none
  int seeds{5};
  int jobs{2};
  bool quick{false};
  bool json{false};
};
/// Tries placement policies on a simulated fleet and prints what each reaches. The same options print the
/// same.
int simulate_placement(const SimulateOptions& options);

}  // namespace fareway
