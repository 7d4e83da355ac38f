#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "adapters/engines/engine.hpp"

namespace fareway {

/// Asks one replica for its health and load, again and again, over a connection of its own.
///
/// Runs on `loop`, apart from serving. Each round: GET health_path (2xx is healthy), then GET load_path, then
/// capacity_path where there is one; a round that takes longer than `timeout` is cut off. The next round
/// starts `interval` after the last one started, or at once where that has passed. A replica that is healthy
/// and whose load could not be read is reported as an error with `healthy` set: no data is no reason to take
/// it out. `report` runs on `loop` and must not throw; it may destroy the prober. `loop` and `engine` outlive
/// the prober, which is made, started and destroyed on the loop's thread or while the loop does not run.
class Prober {
 public:
  struct Options {
    std::chrono::milliseconds interval{1000};
    std::chrono::milliseconds timeout{2000};
  };
  /// `began`: when the round was sent.
  using Report = std::function<void(ProbeResult<LoadReading>, TimePoint began)>;

  Prober(boost::asio::io_context& loop, Endpoint endpoint, const EngineAdapter& engine, Options options,
         Report report);
  ~Prober();  ///< stops; `report` is not called again
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  void start();

 private:
  class Rounds;
  std::shared_ptr<Rounds> rounds_;
};

}  // namespace fareway
