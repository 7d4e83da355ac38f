#include "router/gateway/loop_state.hpp"

#include <mutex>
#include <utility>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>

namespace fareway {

namespace {

using Timer = net::basic_waitable_timer<std::chrono::steady_clock,
                                        net::wait_traits<std::chrono::steady_clock>, Executor>;

/// Between the ledger's thread and a coroutine that may be gone, its loop included, when the ledger reports.
struct Waiter {
  net::io_context& loop;
  Timer timer;  // never expires; cancelled to wake the coroutine
};
struct Link {
  std::mutex mutex;
  Waiter* waiter{nullptr};  // nothing once the coroutine is gone
};

/// On the ledger's thread.
void report(const std::shared_ptr<Link>& link) {
  const std::lock_guard lock(link->mutex);
  if (link->waiter == nullptr) return;
  net::post(link->waiter->loop, [link] {
    const std::lock_guard on_loop(link->mutex);
    if (link->waiter != nullptr) link->waiter->timer.cancel();
  });
}

}  // namespace

LoopState::LoopState(net::io_context& io_loop, GatewayParts gateway_parts)
    : loop(io_loop),
      parts(gateway_parts),
      keys(gateway_parts.config.keys),
      scratch{},
      pool(io_loop, gateway_parts.config.access, gateway_parts.config.limits.upstream_idle, scratch),
      random(std::random_device{}()) {
  const Fleet& fleet = gateway_parts.config.fleet;
  for (std::uint32_t i = 0; i < fleet.models.size(); ++i) models.emplace(fleet.models[i].name, ModelIndex{i});
  for (std::uint32_t i = 0; i < fleet.classes.size(); ++i)
    classes.emplace(fleet.classes[i].name, ClassIndex{i});
}

Task<void> append_and_wait(LoopState& state, LedgerRow row) {
  Waiter waiter{state.loop, Timer(state.loop.get_executor(), Timer::time_point::max())};
  const auto link = std::make_shared<Link>();
  link->waiter = &waiter;
  struct Unlink {
    Link& link;
    ~Unlink() {
      const std::lock_guard lock(link.mutex);
      link.waiter = nullptr;
    }
  } unlink{*link};
  state.parts.ledger.append(std::move(row), [link](SqliteLedger::Commit) { report(link); });
  co_await waiter.timer.async_wait(kAwait);
}

}  // namespace fareway
