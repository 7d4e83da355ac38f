#include <algorithm>
#include <csignal>
#include <memory>
#include <stdexcept>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <spdlog/spdlog.h>

#include "adapters/emulator/emulator.hpp"
#include "router/cli/commands.hpp"
#include "router/config/config.hpp"

namespace fareway {
namespace {

bool wanted(const std::vector<std::string>& pools, const std::string& pool) {
  return pools.empty() || std::ranges::find(pools, pool) != pools.end();
}

void require_known(const Fleet& fleet, const std::vector<std::string>& pools) {
  for (const std::string& name : pools)
    if (std::ranges::find(fleet.pools, name, &Pool::name) == fleet.pools.end())
      throw std::runtime_error("no pool \"" + name + "\" in the configuration");
}

}  // namespace

int emulate(const std::filesystem::path& config_file, const std::vector<std::string>& pools) {
  const Config config = load_config(config_file);
  const Fleet& fleet = config.fleet;
  require_known(fleet, pools);

  boost::asio::io_context loop{1};
  std::vector<std::unique_ptr<EmulatedEngine>> engines;
  for (std::size_t i = 0; i < fleet.replicas.size(); ++i) {
    const Replica& replica = fleet.replicas[i];
    if (!wanted(pools, fleet[replica.pool].name)) continue;
    const Endpoint& endpoint = config.access[i].endpoint;
    const Deployment& deployment = fleet[replica.deployment];
    engines.push_back(std::make_unique<EmulatedEngine>(
        loop, EmulatedReplica{replica.name, endpoint.host, endpoint.port, fleet[deployment.model].name,
                              deployment, config.emulator_time_scale}));
    engines.back()->start();
    spdlog::info("emulating {} ({}) on {}", replica.name, deployment.name, endpoint.authority());
  }

  boost::asio::signal_set signals{loop, SIGINT, SIGTERM};
  signals.async_wait([&](boost::system::error_code, int) {
    for (auto& engine : engines) engine->stop();
    loop.stop();
  });
  loop.run();
  return 0;
}

}  // namespace fareway
