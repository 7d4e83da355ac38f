#include "router/gateway/ledger_desk.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>

namespace fareway {

namespace {

constexpr net::use_awaitable_t<Executor> kResume{};

}  // namespace

/// Between the ledger's thread and a desk that may be gone, its loop included, when the ledger reports.
struct LedgerDesk::Inbox {
  std::mutex mutex;
  LedgerDesk* desk{nullptr};  // nothing once it is gone
  std::vector<std::uint64_t>
      settled;  // tickets the desk has not seen; it has been called where there are any
};

LedgerDesk::LedgerDesk(net::io_context& loop, SqliteLedger& ledger)
    : loop_(loop), ledger_(ledger), inbox_(std::make_shared<Inbox>()) {
  inbox_->desk = this;
}

LedgerDesk::~LedgerDesk() {
  const std::lock_guard lock(inbox_->mutex);
  inbox_->desk = nullptr;
}

Task<void> LedgerDesk::append_and_wait(LedgerRow row) {
  return net::async_initiate<decltype(kResume), void()>(
      [this](auto handler, LedgerRow owed) {
        const std::uint64_t ticket = ++last_ticket_;
        waiting_.emplace(ticket,
                         Waiter([handler = std::move(handler)](const ErrorCode&) mutable { handler(); }));
        ledger_.append(std::move(owed), [inbox = inbox_, ticket](SqliteLedger::Commit) {
          const std::lock_guard lock(inbox->mutex);
          if (inbox->desk == nullptr) return;
          inbox->settled.push_back(ticket);
          if (inbox->settled.size() > 1) return;
          net::post(inbox->desk->loop_, [inbox] {
            if (inbox->desk != nullptr) inbox->desk->report();
          });
        });
      },
      kResume, std::move(row));
}

/// On the loop. What it resumes may end the last session and with it the desk.
void LedgerDesk::report() {
  std::vector<Waiter> resumed;
  {
    const std::lock_guard lock(inbox_->mutex);
    for (const std::uint64_t ticket : inbox_->settled) {
      if (auto waiter = waiting_.extract(ticket)) resumed.push_back(std::move(waiter.mapped()));
    }
    inbox_->settled.clear();
  }
  for (Waiter& waiter : resumed) waiter({});
}

void LedgerDesk::abandon() {
  for (auto& entry : waiting_) {
    net::post(loop_, [waiter = std::move(entry.second)]() mutable { waiter(net::error::operation_aborted); });
  }
  waiting_.clear();
}

}  // namespace fareway
