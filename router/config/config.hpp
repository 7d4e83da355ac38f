#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/engines/engine.hpp"
#include "adapters/tls/tls_settings.hpp"
#include "placement/admission/queue_limits.hpp"
#include "placement/fleet.hpp"
#include "pricing/price_book.hpp"

namespace fareway {

struct ListenAddress {
  std::string host{"127.0.0.1"};
  std::uint16_t port{};
};

/// Limits of the data plane. Each has its own key under `limits:`; all are checked at start.
struct Limits {
  std::size_t max_body_bytes{64u << 20};  ///< request body; 413 beyond. Fits a 40 MB image as base64.
  std::size_t max_connections{10'000};    ///< client connections; more wait in the backlog
  std::chrono::milliseconds header_timeout{10'000};      ///< first byte to end of head (slow loris)
  std::chrono::milliseconds body_idle_timeout{30'000};   ///< between two reads of a request body
  std::chrono::milliseconds keep_alive_timeout{75'000};  ///< idle client connection
  std::chrono::milliseconds connect_timeout{2'000};
  std::chrono::milliseconds first_byte_timeout{
      600'000};  ///< the OpenAI SDKs' own limit: a shorter one changes the API
  std::chrono::milliseconds idle_timeout{120'000};        ///< between two reads of an answer that has begun
  std::chrono::milliseconds write_stall_timeout{60'000};  ///< a client that takes no byte is dropped
  std::chrono::milliseconds upstream_idle{4'000};   ///< pooled engine connections; uvicorn closes at 5 s
  std::chrono::milliseconds drain_timeout{30'000};  ///< SIGTERM: streams may finish within it
  std::uint32_t max_attempts{3};                    ///< replicas tried for one request, the first included
};

/// Which decisions are kept for explaining.
struct DecisionKeeping {
  std::size_t keep{4096};  ///< the latest; beyond them the oldest leaves
  double sample{1.0};      ///< share of requests whose decision is kept, by their id
};

/// How a replica is reached and read; parallel to `Fleet::replicas`.
struct ReplicaAccess {
  Endpoint endpoint;
  const EngineAdapter* engine{nullptr};
};

/// A client's key: only its SHA-256 is kept. Two keys may belong to one tenant.
struct ApiKey {
  std::string id;      ///< short and not secret; appears in logs and the ledger
  std::string sha256;  ///< 64 lower-case hex digits
  TenantIndex tenant;
  ClassIndex default_class;
  std::vector<ClassIndex> classes{};  ///< those its requests may be in; empty: all

  bool allows(ClassIndex service_class) const;
};

/// The class of requests that name none, by what they ask. The first that applies counts.
struct ClassDefault {
  std::string path;                 ///< of the client API, "/v1/embeddings"; empty: any
  std::optional<ModelIndex> model;  ///< nothing: any
  ClassIndex service_class;

  bool applies(std::string_view request_path, ModelIndex request_model) const;
};

/// Paths of the client API that generate something.
std::span<const std::string_view> generation_paths();

/// Where a section stands in its file, for warnings.
struct ConfigPlace {
  int line{0};
  std::string path;                               ///< "rules[1]"
  std::map<std::string, int, std::less<>> lines;  ///< of its keys
};

/// Where the sections that name certificates stand.
struct TlsPlaces {
  ConfigPlace listener;
  std::vector<ConfigPlace> certificates;  ///< parallel to `Config::tls.certificates`
  std::vector<ConfigPlace> pools;         ///< parallel to `fleet.pools`
};

/// Everything one file says, checked and resolved: names have become indices, units have become types.
struct Config {
  std::string file;  ///< its name, for messages
  ListenAddress listen;
  ListenAddress admin;
  TlsListener tls;
  TlsPlaces tls_places;
  std::filesystem::path ledger_file;
  Limits limits;
  QueueLimits queue;
  DecisionKeeping decisions;
  Fleet fleet;
  std::vector<std::vector<PriceStep>> price_schedules;  ///< parallel to `fleet.pools`
  std::vector<ReplicaAccess> access;                    ///< parallel to `fleet.replicas`
  std::vector<ApiKey> keys;
  std::vector<ClassDefault> class_defaults;
  std::vector<ConfigPlace> rule_places;  ///< parallel to `fleet.rules.rules()`
  double emulator_time_scale{1.0};       ///< only `fareway emulate` reads it
};

/// One thing wrong with a configuration file.
struct ConfigProblem {
  int line{0};       ///< 1-based; 0 where there is no place (file missing)
  std::string path;  ///< "pools[1].replicas[0].deployment"
  std::string what;  ///< what is wrong and what would be right
};

/// All problems of one file, together.
class ConfigError : public std::runtime_error {
 public:
  ConfigError(std::string file, std::vector<ConfigProblem> problems);
  const std::string& file() const { return file_; }
  const std::vector<ConfigProblem>& problems() const { return problems_; }

 private:
  std::string file_;
  std::vector<ConfigProblem> problems_;
};

/// Reads and checks a YAML or JSON file. Throws ConfigError with every problem found.
Config load_config(const std::filesystem::path& file);
/// The same for text; `name` stands for the file in messages.
Config parse_config(std::string_view text, const std::string& name);

/// What is allowed and probably not meant, one line each: an emulated number format, a model that nothing
/// serves, ...
std::vector<std::string> config_warnings(const Config& config);

}  // namespace fareway
