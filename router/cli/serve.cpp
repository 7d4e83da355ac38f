#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <prometheus/registry.h>
#include <spdlog/spdlog.h>

#include "adapters/engines/prober.hpp"
#include "adapters/stores/sqlite_ledger.hpp"
#include "placement/live_fleet.hpp"
#include "placement/slow_downs.hpp"
#include "router/admin/admin_server.hpp"
#include "router/admin/figures.hpp"
#include "router/cli/commands.hpp"
#include "router/cli/idle_billing.hpp"
#include "router/cli/service_manager.hpp"
#include "router/config/config.hpp"
#include "router/config/tls_files.hpp"
#include "router/gateway/gateway.hpp"
#include "router/observe/decision_log.hpp"
#include "router/observe/metrics.hpp"
#include "router/observe/throughput.hpp"

namespace fareway {
namespace {

namespace net = boost::asio;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTick{1};
constexpr int kCutWhatWasOpen = 3;
constexpr std::chrono::seconds kIdleRowsEvery{60};

WallTime wall_now() {
  return std::chrono::system_clock::now();
}

/// Sockets are what a proxy runs out of first: take as many as the system allows.
void raise_open_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// The running gateway: owns every part and the two threads they live on.
///
/// The data loop (the calling thread) has the gateway, the live fleet and the decision log; the control loop
/// (a thread of its own) has the admin listener and the probers, whose reports it posts to the data loop. The
/// ledger has its writer.
class Service {
 public:
  explicit Service(Config config);

  /// Returns when the last exchange has ended after a signal; false where some had to be cut.
  bool run();

 private:
  void start_probers();
  void report(ReplicaIndex replica, const ProbeResult<LoadReading>& result, TimePoint began);
  void say_rotation(ReplicaIndex replica);
  void say_slow_downs();
  void say_scaling();
  void say_trouble(ReplicaIndex replica, const std::string& what);
  void tick();
  void write_idle_rows();
  void await_signal();
  void await_hangup();
  void reload_certificates();
  void drain();
  void stop();

  const Config config_;
  SqliteLedger ledger_;
  net::io_context data_loop_{1};
  net::io_context control_loop_{1};
  LiveFleet fleet_;
  DecisionLog decisions_;
  ThroughputWindow throughput_;
  prometheus::Registry registry_;
  Metrics metrics_;
  ScalingAdvisor scaling_;
  IdleBilling idle_billing_;
  std::atomic<bool> draining_{false};
  std::size_t cut_{0};  // requests that did not end by themselves
  Gateway gateway_;
  AdminServer admin_;
  std::vector<std::unique_ptr<Prober>> probers_;
  struct Said {
    bool serving{false};
    std::string trouble;
    bool slow{false};
  };
  std::string said_advice_;  // the advice that stood last
  std::vector<Said> said_;   // what the log last said of each replica
  net::steady_timer tick_timer_{data_loop_};
  net::steady_timer drain_timer_{data_loop_};
  net::signal_set signals_{data_loop_, SIGINT, SIGTERM};
  net::signal_set hangup_{data_loop_, SIGHUP};
  TimePoint idle_rows_at_{SteadyClock::now() + kIdleRowsEvery};
};

Service::Service(Config config)
    : config_(std::move(config)),
      ledger_(config_.ledger_file),
      fleet_(config_.fleet, PriceBook{config_.price_schedules}, SteadyClock::now(), wall_now()),
      decisions_(config_.decisions.keep, config_.decisions.sample),
      throughput_(config_.fleet.replicas.size()),
      metrics_(registry_, config_.fleet),
      scaling_(config_.fleet),
      idle_billing_(config_.fleet.replicas.size(), wall_now()),
      gateway_(data_loop_, {config_, fleet_, decisions_, ledger_, metrics_, &scaling_}),
      admin_(control_loop_, {config_, data_loop_, fleet_, decisions_, throughput_, ledger_, registry_,
                             draining_, &gateway_, &scaling_}) {}

bool Service::run() {
  gateway_.start(handed_over_listener());
  admin_.start();
  start_probers();
  tick();
  await_signal();
  await_hangup();
  spdlog::info("gateway on {}:{}, console and metrics on {}:{}, ledger {}", config_.listen.host,
               gateway_.port(), config_.admin.host, admin_.port(), config_.ledger_file.string());

  std::thread control{[this] {
    const auto work = net::make_work_guard(control_loop_);
    control_loop_.run();
  }};
  say_ready();
  data_loop_.run();
  control_loop_.stop();
  control.join();
  probers_.clear();
  fleet_.tick(SteadyClock::now(), wall_now());
  write_idle_rows();
  return cut_ == 0;
}

void Service::start_probers() {
  said_.resize(config_.access.size());
  for (std::uint32_t i = 0; i < config_.access.size(); ++i) {
    const ReplicaAccess& access = config_.access[i];
    auto on_report = [this, i](ProbeResult<LoadReading> result, TimePoint began) {
      net::post(data_loop_, [this, i, result = std::move(result), began] { report({i}, result, began); });
    };
    probers_.push_back(std::make_unique<Prober>(control_loop_, access.endpoint, *access.engine,
                                                Prober::Options{}, std::move(on_report)));
    probers_.back()->start();
  }
}

void Service::report(ReplicaIndex replica, const ProbeResult<LoadReading>& result, TimePoint began) {
  if (result) {
    fleet_.apply(replica, *result, began, SteadyClock::now());
  } else if (result.error().healthy) {
    fleet_.probe_succeeded(replica, began, SteadyClock::now());
  } else {
    fleet_.probe_failed(replica, result.error().what, SteadyClock::now());
  }
  say_trouble(replica, result ? std::string{} : result.error().what);
  say_rotation(replica);
}

void Service::say_rotation(ReplicaIndex index) {
  const Replica& replica = fleet_.fleet()[index];
  const bool serving = replica.health.serving();
  if (std::exchange(said_[index.value].serving, serving) == serving) return;
  if (serving) {
    spdlog::info("{} is in rotation", replica.name);
  } else {
    spdlog::warn("{} left rotation: {}", replica.name, replica.health.reason());
  }
}

/// Once when it changes, not once a second.
void Service::say_trouble(ReplicaIndex replica, const std::string& what) {
  if (std::exchange(said_[replica.value].trouble, what) == what) return;
  if (!what.empty()) spdlog::warn("{}: {}", fleet_.fleet()[replica].name, what);
}

/// With the evidence when it is found, and once more when it is over.
void Service::say_slow_downs() {
  std::vector<bool> slow(said_.size());
  for (const SlowDown& found : slow_downs(fleet_.fleet())) {
    slow[found.replica.value] = true;
    if (!said_[found.replica.value].slow) spdlog::warn("{}", slow_down_text(found, fleet_.fleet()));
  }
  for (std::uint32_t i = 0; i < said_.size(); ++i) {
    if (std::exchange(said_[i].slow, slow[i]) && !slow[i])
      spdlog::info("{} is as fast as it should be again", fleet_.fleet()[ReplicaIndex{i}].name);
  }
}

/// Each piece of advice once, when it is given.
void Service::say_scaling() {
  std::string advised;
  for (const FleetAdvice& advice : scaling_.standing()) {
    const auto since = advice.since.time_since_epoch().count();
    const std::string key = std::to_string(advice.model.value) + "@" + std::to_string(since) + " ";
    if (said_advice_.find(key) == std::string::npos)
      spdlog::info("advice: {}", advice_text(advice, fleet_.fleet()));
    advised += key;
  }
  said_advice_ = std::move(advised);
}

void Service::tick() {
  say_alive();
  fleet_.tick(SteadyClock::now(), wall_now());
  metrics_.fleet_changed(fleet_);
  scaling_.review(fleet_.fleet(), SteadyClock::now());
  metrics_.scaling_advised(scaling_, fleet_.fleet());
  say_scaling();
  throughput_.fleet_changed(fleet_.fleet());
  metrics_.ledger_backlog(ledger_.backlog());
  for (std::uint32_t i = 0; i < said_.size(); ++i) say_rotation({i});  // requests take replicas out, too
  say_slow_downs();
  if (SteadyClock::now() >= idle_rows_at_) {
    idle_rows_at_ += kIdleRowsEvery;
    write_idle_rows();
  }
  tick_timer_.expires_after(kTick);
  tick_timer_.async_wait([this](boost::system::error_code error) {
    if (!error) tick();
  });
}

void Service::write_idle_rows() {
  for (IdleRow& row : idle_billing_.rows(fleet_, wall_now())) ledger_.append(std::move(row));
}

void Service::await_signal() {
  signals_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    if (!draining_.exchange(true)) {
      drain();
      await_signal();
    } else {
      spdlog::warn("second signal: cutting what is still open");
      cut_ += gateway_.cut();
    }
  });
}

void Service::await_hangup() {
  hangup_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    reload_certificates();
    await_hangup();
  });
}

/// What a renewal's hook asks for. The rest of the configuration is read at start only.
void Service::reload_certificates() {
  say_reloading();
  try {
    gateway_.reload_certificates();
    if (config_.tls.enabled()) spdlog::info("certificates are read again; new connections use them");
  } catch (const std::exception& error) {
    spdlog::error("certificates are kept as they were: {}", error.what());
  }
  say_ready();
}

void Service::drain() {
  say_stopping();
  spdlog::info("draining: open requests may finish within {} s; a second signal cuts them",
               std::chrono::duration_cast<std::chrono::seconds>(config_.limits.drain_timeout).count());
  drain_timer_.expires_after(config_.limits.drain_timeout);
  drain_timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    spdlog::warn("drain time is over: cutting what is still open");
    cut_ += gateway_.cut();
  });
  gateway_.drain([this] { stop(); });
}

void Service::stop() {
  drain_timer_.cancel();
  tick_timer_.cancel();
  signals_.cancel();
  hangup_.cancel();
  net::post(control_loop_, [this] { admin_.stop(); });
  data_loop_.stop();
}

}  // namespace

int serve(const std::filesystem::path& config_file) {
  Config config = load_config(config_file);
  verify_tls_files(config);
  for (const std::string& warning : config_warnings(config)) spdlog::warn("{}", warning);
  raise_open_file_limit();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a full ledger file is an error to handle, not the end
  std::signal(SIGHUP, SIG_IGN);   // until the service listens for it
  Service service{std::move(config)};
  const bool whole = service.run();
  spdlog::info(whole ? "stopped" : "stopped; answers that were still open were cut");
  return whole ? 0 : kCutWhatWasOpen;
}

}  // namespace fareway
