#include "adapters/stores/sqlite_ledger.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "adapters/stores/ledger_file.hpp"
#include "adapters/stores/ledger_tables.hpp"

namespace fareway {
namespace {

/// How long a failing store is left alone.
constexpr std::chrono::seconds kRetryInterval{1};
/// Rows of one transaction at most: after an outage the backlog goes in piece by piece, so progress is kept.
constexpr std::size_t kMaxGroup = 4096;
/// A commit costs as much as ten rows or more, so under load rows wait for company: until this long after the
/// last commit began, or until they are that many. A row after a quiet while waits for nobody.
constexpr std::chrono::milliseconds kCommitInterval{2};
constexpr std::size_t kEnoughForACommit = 64;

struct Entry {
  std::variant<LedgerRow, IdleRow> row;
  SqliteLedger::Done done;

  void finish(SqliteLedger::Commit commit) {
    if (const auto callback = std::exchange(done, nullptr)) callback(commit);
  }
};

/// Last resort for a row: whole, on one line, in one write so that lines of several threads do not mix.
void write_to_stderr(std::string_view event, const std::string& reason, const Entry& entry) {
  using nlohmann::json;
  const std::string why = json(reason).dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string row = std::visit([](const auto& value) { return to_json(value); }, entry.row);
  const std::string line = R"({"level":"error","event":")" + std::string(event) + R"(","reason":)" + why +
                           R"(,"row":)" + row + "}\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

/// The writer thread and what it shares with the callers of `append`.
class SqliteLedger::Writer {
 public:
  explicit Writer(const std::filesystem::path& file) : file_(open_ledger(file)), tables_(file_.database) {
    thread_ = std::thread([this] { run(); });
  }
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void append(Entry entry);
  std::size_t backlog() const { return backlog_; }
  std::uint64_t refused() const { return refused_; }
  std::string trouble() const;

 private:
  /// For each row of a group, why the schema refuses it; nothing for a row that is in.
  using Refusals = std::vector<std::optional<std::string>>;
  using Clock = std::chrono::steady_clock;

  void run();
  bool collect();
  void commit_waiting();
  Refusals commit_group(std::size_t size);
  bool commit_unrefused(std::size_t size);
  Refusals commit_some_refused(std::size_t size);
  void settle_group(const Refusals& refusals);
  void defer_waiting();
  void set_trouble(std::string what);

  LedgerFile file_;
  LedgerTables tables_;

  // The writer thread's own.
  std::deque<Entry> waiting_;  // oldest first; empty between commits unless the store fails
  std::size_t deferred_{0};    // how many of them, from the front, have been told so
  Clock::time_point retry_at_{};
  Clock::time_point committed_at_{};  // when the last commit began

  std::atomic<std::size_t> backlog_{0};
  std::atomic<std::uint64_t> refused_{0};
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::vector<Entry> incoming_;
  std::string trouble_;
  bool stopping_{false};

  std::thread thread_;
};

SqliteLedger::Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SqliteLedger::Writer::append(Entry entry) {
  ++backlog_;
  std::size_t incoming = 0;
  {
    const std::lock_guard lock(mutex_);
    incoming_.push_back(std::move(entry));
    incoming = incoming_.size();
  }
  if (incoming == 1 || incoming == kEnoughForACommit) wake_.notify_one();
}

std::string SqliteLedger::Writer::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void SqliteLedger::Writer::run() {
  bool stopping = false;
  while (!stopping) {
    stopping = collect();
    const bool rest = !stopping && Clock::now() < retry_at_;
    if (rest) {
      defer_waiting();
    } else {
      commit_waiting();
    }
  }
  for (const Entry& entry : waiting_) write_to_stderr("ledger_row_unwritten", trouble(), entry);
}

/// Waits for rows, for the time to try again, or for the end; true at the end.
bool SqliteLedger::Writer::collect() {
  std::unique_lock lock(mutex_);
  const auto called = [this] { return stopping_ || !incoming_.empty(); };
  if (waiting_.empty()) {
    wake_.wait(lock, called);
  } else {
    wake_.wait_until(lock, retry_at_, called);
  }
  wake_.wait_until(lock, committed_at_ + kCommitInterval,
                   [this] { return stopping_ || incoming_.size() >= kEnoughForACommit; });
  waiting_.insert(waiting_.end(), std::make_move_iterator(incoming_.begin()),
                  std::make_move_iterator(incoming_.end()));
  incoming_.clear();
  return stopping_;
}

void SqliteLedger::Writer::commit_waiting() {
  while (!waiting_.empty()) {
    Refusals refusals;
    try {
      refusals = commit_group(std::min(waiting_.size(), kMaxGroup));
    } catch (const DatabaseError& error) {
      set_trouble("ledger " + file_.path.string() + ": " + error.what());
      retry_at_ = Clock::now() + kRetryInterval;
      defer_waiting();
      return;
    }
    if (retry_at_ != Clock::time_point{}) {
      set_trouble({});
      retry_at_ = {};
    }
    settle_group(refusals);
  }
}

/// One transaction for the `size` oldest rows.
SqliteLedger::Writer::Refusals SqliteLedger::Writer::commit_group(std::size_t size) {
  committed_at_ = Clock::now();
  file_.database.expect_in_place();
  return commit_unrefused(size) ? Refusals(size) : commit_some_refused(size);
}

/// False where the schema refuses a row of them, and then none is in.
bool SqliteLedger::Writer::commit_unrefused(std::size_t size) {
  Transaction transaction(file_.database, Transaction::Kind::kWrite);
  try {
    for (std::size_t i = 0; i < size; ++i) {
      std::visit([this](const auto& row) { tables_.insert(row); }, waiting_[i].row);
    }
  } catch (const DatabaseError& error) {
    if (!is_refusal(error)) throw;
    return false;
  }
  transaction.commit();
  return true;
}

SqliteLedger::Writer::Refusals SqliteLedger::Writer::commit_some_refused(std::size_t size) {
  Refusals refusals(size);
  Transaction transaction(file_.database, Transaction::Kind::kWrite);
  for (std::size_t i = 0; i < size; ++i) {
    try {
      std::visit([this](const auto& row) { tables_.insert_wholly(row); }, waiting_[i].row);
    } catch (const DatabaseError& error) {
      if (!is_refusal(error)) throw;
      refusals[i] = error.what();
    }
  }
  transaction.commit();
  return refusals;
}

/// The group is on the disk: takes its rows off and tells their owners.
void SqliteLedger::Writer::settle_group(const Refusals& refusals) {
  backlog_ -= refusals.size();
  deferred_ -= std::min(deferred_, refusals.size());
  for (const auto& refusal : refusals) {
    Entry entry = std::move(waiting_.front());
    waiting_.pop_front();
    if (refusal) {
      ++refused_;
      write_to_stderr("ledger_row_refused", *refusal, entry);
    }
    entry.finish(refusal ? Commit::kRefused : Commit::kDurable);
  }
}

void SqliteLedger::Writer::defer_waiting() {
  for (; deferred_ < waiting_.size(); ++deferred_) waiting_[deferred_].finish(Commit::kDeferred);
}

void SqliteLedger::Writer::set_trouble(std::string what) {
  const std::lock_guard lock(mutex_);
  trouble_ = std::move(what);
}

SqliteLedger::SqliteLedger(const std::filesystem::path& file) : writer_(std::make_unique<Writer>(file)) {}
SqliteLedger::~SqliteLedger() = default;

void SqliteLedger::append(LedgerRow row, Done done) {
  writer_->append({.row = std::move(row), .done = std::move(done)});
}
void SqliteLedger::append(IdleRow row) {
  writer_->append({.row = std::move(row), .done = nullptr});
}

std::size_t SqliteLedger::backlog() const {
  return writer_->backlog();
}
std::string SqliteLedger::trouble() const {
  return writer_->trouble();
}
std::uint64_t SqliteLedger::refused() const {
  return writer_->refused();
}

int migrate(const std::filesystem::path& file) {
  return open_ledger(file).applied;
}

}  // namespace fareway
