#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <boost/asio/io_context.hpp>

#include "adapters/stores/sqlite_ledger.hpp"
#include "placement/live_fleet.hpp"
#include "placement/scaling/advisor.hpp"
#include "router/config/config.hpp"
#include "router/gateway/gateway.hpp"
#include "router/observe/decision_log.hpp"
#include "router/observe/throughput.hpp"

namespace prometheus {
class Registry;
}

namespace fareway {

/// What the admin listener shows; all of it outlives the server. `fleet`, `decisions` and `throughput` belong
/// to `data_loop`'s thread: they are read only by functions posted there, which copy what a page needs;
/// rendering happens on the admin loop. `config.fleet` names what the live fleet refers to by index.
struct AdminParts {
  const Config& config;
  boost::asio::io_context& data_loop;
  LiveFleet& fleet;
  const DecisionLog& decisions;
  const ThroughputWindow& throughput;
  const SqliteLedger& ledger;
  prometheus::Registry& registry;
  const std::atomic<bool>& draining;
  const Gateway* gateway{nullptr};         ///< where there is one, for its queue
  const ScalingAdvisor* scaling{nullptr};  ///< where there is one
};

/// The operators' listener: /metrics, /healthz, /readyz, /admin/v1/fleet, /admin/v1/decisions[/{request-id}],
/// /admin/v1/queue, /admin/v1/scaling, /admin/v1/explain and the console page at /; /admin/v1/drain and
/// /admin/v1/undrain are all that changes anything. Without authentication: it belongs on an address only
/// operators reach. Runs on its own loop with one thread, so that nothing here delays a token. Both
/// loops must have stopped before either is destroyed.
class AdminServer {
 public:
  AdminServer(boost::asio::io_context& loop, AdminParts parts);
  ~AdminServer();  ///< stops
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  /// Listens. Throws std::runtime_error ("admin: cannot listen on 127.0.0.1:9090: Address already in use").
  void start();
  /// Closes the listener and every connection, on the loop; any thread, more than once.
  void stop();
  /// The port listened on, also where the configuration says 0. After `start`.
  std::uint16_t port() const;

 private:
  class Server;
  std::shared_ptr<Server> server_;
};

}  // namespace fareway
