#include <iostream>

#include "router/cli/commands.hpp"
#include "router/config/config.hpp"
#include "router/config/tls_files.hpp"

namespace fareway {

int check(const std::filesystem::path& config_file) {
  const Config config = load_config(config_file);
  verify_tls_files(config);
  for (const std::string& warning : config_warnings(config)) std::cout << "warning: " << warning << '\n';
  for (const Deployment& deployment : config.fleet.deployments)
    if (deployment.format_support == FormatSupport::kConverted)
      std::cout << "note: deployment " << deployment.name << ": " << to_string(deployment.format)
                << " is converted: " << deployment.format_reason << '\n';
  std::cout << config_file.string() << ": ok: " << config.fleet.pools.size() << " pools, "
            << config.fleet.replicas.size() << " replicas, " << config.fleet.models.size() << " models, "
            << config.fleet.classes.size() << " classes, " << config.fleet.tenants.size() << " tenants\n";
  return 0;
}

}  // namespace fareway
