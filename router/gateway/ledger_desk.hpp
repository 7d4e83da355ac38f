#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "adapters/stores/sqlite_ledger.hpp"
#include "router/gateway/net.hpp"
#include "router/gateway/waiter.hpp"

namespace fareway {

/// Where the exchanges of one loop wait for their ledger rows. The ledger's thread wakes the loop once for
/// all rows of a commit that the loop has not yet heard of, not once a row. Owned by its loop's state, used
/// by that loop's thread.
class LedgerDesk {
 public:
  /// Both outlive the desk.
  LedgerDesk(net::io_context& loop, SqliteLedger& ledger);
  ~LedgerDesk();
  LedgerDesk(const LedgerDesk&) = delete;
  LedgerDesk& operator=(const LedgerDesk&) = delete;

  /// Appends the row and waits until it is durable, or kept for later because the store is in trouble. The
  /// row is handed over when this is awaited, and written even if the waiting coroutine is destroyed.
  Task<void> append_and_wait(LedgerRow row);
  /// The loop will not run again: lets go of who waits.
  void abandon();

 private:
  struct Inbox;
  void report();

  net::io_context& loop_;
  SqliteLedger& ledger_;
  std::shared_ptr<Inbox> inbox_;
  std::unordered_map<std::uint64_t, Waiter> waiting_;  // by ticket
  std::uint64_t last_ticket_{0};
};

}  // namespace fareway
