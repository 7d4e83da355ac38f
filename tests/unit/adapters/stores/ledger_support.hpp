#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <stdlib.h>  // mkdtemp
#include <string>
#include <utility>
#include <vector>

#include "adapters/stores/database.hpp"
#include "adapters/stores/sqlite_ledger.hpp"

namespace fareway::stores_test {

using Commit = SqliteLedger::Commit;

/// A folder of its own for one test, gone afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fareway-stores-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

constexpr WallTime at(std::int64_t seconds) {
  return WallTime{std::chrono::seconds(seconds)};
}

/// A request that ran on one replica, with counts and a price, unless told otherwise.
class Request {
 public:
  explicit Request(std::string id) {
    row_.request_id = std::move(id);
    row_.admitted_at = at(1'000);
    row_.tenant = "acme";
    row_.key_id = "k1";
    row_.model = "m";
    row_.service_class = "interactive";
    row_.endpoint = "/v1/chat/completions";
    row_.outcome = Outcome::kComplete;
    row_.status = 200;
    row_.duration = Seconds{0.5};
  }
  Request& admitted(WallTime time) { return row_.admitted_at = time, *this; }
  Request& tenant(std::string name) { return row_.tenant = std::move(name), *this; }
  Request& model(std::string name) { return row_.model = std::move(name), *this; }
  Request& service_class(std::string name) { return row_.service_class = std::move(name), *this; }
  Request& tokens(std::int64_t prompt, std::int64_t cached, std::int64_t completion) {
    row_.usage_source = UsageSource::kEngine;
    row_.usage = TokenUsage{{prompt}, {cached}, {completion}};
    return *this;
  }
  Request& price(std::int64_t nanousd) { return row_.price = NanoUsd{nanousd}, *this; }
  /// One more attempt.
  Request& ran(std::string replica, std::string pool, std::int64_t cost_nanousd) {
    row_.charges.push_back({std::move(replica), std::move(pool), NanoUsd{cost_nanousd}});
    return *this;
  }
  LedgerRow row() const { return row_; }
  operator LedgerRow() const {
    return row_;
  }  // NOLINT(google-explicit-constructor): reads as the row it builds

 private:
  LedgerRow row_;
};

/// What became of each append, in the order in which the ledger said so.
class Receipts {
 public:
  using Receipt = std::pair<std::string, Commit>;

  SqliteLedger::Done of(std::string id) {
    return [this, id = std::move(id)](Commit commit) {
      const std::lock_guard lock(mutex_);
      receipts_.emplace_back(id, commit);
      changed_.notify_all();
    };
  }
  /// Waits until there are `count`; what there is after half a minute otherwise.
  std::vector<Receipt> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return receipts_.size() >= count; });
    return receipts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Receipt> receipts_;
};

/// Appends and waits for the answer.
inline Commit append_and_wait(SqliteLedger& ledger, const LedgerRow& row) {
  Receipts receipts;
  ledger.append(row, receipts.of(row.request_id));
  return receipts.wait_for(1).at(0).second;
}

inline Database open_reader(const std::filesystem::path& file) {
  return {file, Database::Mode::kReadOnly, std::chrono::seconds(5)};
}

/// First column of every row, as text.
inline std::vector<std::string> column(const std::filesystem::path& file, const std::string& sql) {
  Database database = open_reader(file);
  std::vector<std::string> values;
  Statement(database, sql).for_each_row([&](const Statement& row) { values.push_back(row.text(0)); });
  return values;
}

inline std::vector<std::string> request_ids(const std::filesystem::path& file) {
  return column(file, "SELECT request_id FROM requests ORDER BY rowid");
}

/// Changes a ledger behind its back.
inline void tamper(const std::filesystem::path& file, const std::string& sql) {
  Database(file, Database::Mode::kReadWrite, std::chrono::seconds(5)).execute(sql);
}

/// The text of the std::exception that `action` throws; empty where it throws none.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace fareway::stores_test
