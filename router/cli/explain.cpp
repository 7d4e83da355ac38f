#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "placement/live_fleet.hpp"
#include "router/admin/explain_text.hpp"
#include "router/cli/admin_client.hpp"
#include "router/cli/commands.hpp"
#include "router/config/config.hpp"
#include "router/gateway/dry_run.hpp"

namespace fareway {
namespace {

std::string read_request(const std::filesystem::path& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw std::runtime_error("cannot read " + file.string() +
                             "; name a file that holds a request body, or -");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A fleet in which every replica is in rotation and nothing runs.
LiveFleet idle_fleet(const Config& config, TimePoint now, WallTime wall_now) {
  LiveFleet fleet(config.fleet, PriceBook{config.price_schedules}, now, wall_now);
  for (std::uint32_t i = 0; i < config.fleet.replicas.size(); ++i) fleet.probe_succeeded({i}, now, now);
  return fleet;
}

int explain_offline(const ExplainOptions& options) {
  const Config config = load_config(options.config_file);
  const TimePoint now = std::chrono::steady_clock::now();
  const WallTime wall_now = std::chrono::system_clock::now();
  LiveFleet fleet = idle_fleet(config, now, wall_now);
  ShapeReader reader;
  const auto record = dry_run({.path = options.path,
                               .key_id = options.key,
                               .service_class = options.service_class,
                               .session = options.session,
                               .body = read_request(options.request_file)},
                              config, fleet, reader, now, wall_now);
  if (!record) {
    std::cout << "It would be refused with " << record.error().status << ": " << record.error().message
              << '\n';
    return 0;
  }
  std::cout << "On an idle fleet, not sent:\n" << explain_text(*record, config.fleet);
  return 0;
}

}  // namespace

int explain_request(const ExplainOptions& options) {
  if (options.admin.empty() && !options.config_file.empty()) return explain_offline(options);
  AdminClient admin(options.admin);
  std::string target = "/admin/v1/explain?path=" + percent_encoded(options.path);
  const auto add = [&target](const char* name, const std::string& value) {
    if (!value.empty()) target += std::string("&") + name + "=" + percent_encoded(value);
  };
  add("key", options.key);
  add("class", options.service_class);
  add("session", options.session);
  std::cout << admin.post(target, read_request(options.request_file));
  return 0;
}

int explain_decision(const std::string& request_id, const std::string& admin_url) {
  AdminClient admin(admin_url);
  std::cout << admin.get("/admin/v1/decisions/" + percent_encoded(request_id) + "?format=text");
  return 0;
}

}  // namespace fareway
