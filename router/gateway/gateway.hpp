#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>

#include "adapters/stores/sqlite_ledger.hpp"
#include "placement/admission/admission_queue.hpp"
#include "placement/live_fleet.hpp"
#include "placement/scaling/advisor.hpp"
#include "router/config/config.hpp"
#include "router/observe/decision_log.hpp"
#include "router/observe/metrics.hpp"

namespace fareway {

/// What the gateway works on; all of it outlives the gateway and, but for the ledger and metrics, belongs to
/// its loop.
struct GatewayParts {
  const Config& config;
  LiveFleet& fleet;
  DecisionLog& decisions;
  SqliteLedger& ledger;
  Metrics& metrics;
  ScalingAdvisor* scaling{nullptr};  ///< is told what is placed and missed, where there is one
};

/// The client-facing HTTP listener: authenticates, shapes, decides, forwards, settles. One loop, one thread.
class Gateway {
 public:
  Gateway(boost::asio::io_context& loop, GatewayParts parts);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  /// Listens. Throws std::runtime_error ("cannot listen on 127.0.0.1:8080: address in use by another
  /// process"). `listener`: a socket that listens already, taken over in place of the configuration's
  /// address.
  void start(std::optional<int> listener = {});
  std::uint16_t port() const;

  /// Reads the certificates' files again, for connections from now on; the others go on as they are. Throws
  /// std::runtime_error where a file is not in order, and then keeps those it has.
  void reload_certificates();

  /// Takes no new connection and no new request; open exchanges go on. `drained` runs on the loop once none
  /// is left.
  void drain(std::function<void()> drained);
  /// Cuts what is still open: streams get an error event, rows are written. How many requests that were.
  std::size_t cut();

  /// Who waits; on the loop only.
  const AdmissionQueue& queue() const;

 private:
  class Front;
  std::shared_ptr<Front> front_;
};

}  // namespace fareway
