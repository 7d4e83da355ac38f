#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

struct sqlite3;
struct sqlite3_stmt;

namespace fareway {

/// What SQLite answered: its words, with the system's reason where there is one, and its extended result
/// code.
class DatabaseError : public std::runtime_error {
 public:
  DatabaseError(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  int code() const { return code_; }
  /// The code without its extension, such as SQLITE_IOERR for SQLITE_IOERR_WRITE.
  int primary() const { return code_ & 0xff; }

 private:
  int code_;
};

/// One SQLite connection. Used by one thread at a time; everything throws DatabaseError.
class Database {
 public:
  enum class Mode { kReadOnly, kReadWrite };

  /// `kReadWrite` makes the file where there is none. A statement waits at most `busy_timeout` for another
  /// connection's lock.
  Database(const std::filesystem::path& file, Mode mode, std::chrono::milliseconds busy_timeout);

  /// Runs one or several statements whose rows do not matter.
  void execute(const std::string& sql);
  bool in_transaction() const;
  /// False where the file could only be opened for reading.
  bool writable() const;
  /// Throws where the file was moved or removed since it was opened: what is written then is lost on closing.
  void expect_in_place();

 private:
  friend class Statement;
  friend class Transaction;
  struct Closer {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Closer> handle_;
};

/// A prepared statement, reusable. Must not outlive its database.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  /// Binds `values` to ?1, ?2, … and runs to the end. Integers, floating point, text and optionals of them; a
  /// NaN is stored as NULL.
  template <class... Values>
  void run(const Values&... values) {
    for_each_row([](const Statement&) {}, values...);
  }

  /// As `run`, and calls `visit(*this)` for each row.
  template <class Visitor, class... Values>
  void for_each_row(Visitor visit, const Values&... values) {
    const Rewind rewind{handle_.get()};
    int index = 0;
    (bind(++index, values), ...);
    expect_bound(index);
    while (step()) visit(*this);
  }

  /// Columns of the current row, from 0.
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  /// Leaves the statement without a row and without pointers to values that are gone.
  struct Rewind {
    sqlite3_stmt* statement;
    ~Rewind();
  };
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };

  template <class Value>
  void bind(int index, const std::optional<Value>& value) {
    value ? bind(index, *value) : bind_null(index);
  }
  template <class Value>
  void bind(int index, const Value& value) {
    if constexpr (std::integral<Value>) {
      bind_integer(index, static_cast<std::int64_t>(value));
    } else if constexpr (std::floating_point<Value>) {
      bind_real(index, static_cast<double>(value));
    } else {
      bind_text(index, std::string_view(value));
    }
  }
  void bind_null(int index);
  void bind_integer(int index, std::int64_t value);
  void bind_real(int index, double value);
  void bind_text(int index, std::string_view value);
  void expect_bound(int count) const;
  bool step();
  void check(int code) const;

  std::unique_ptr<sqlite3_stmt, Finalizer> handle_;
};

/// A transaction that is rolled back unless it was committed.
class Transaction {
 public:
  enum class Kind {
    kRead,   ///< one consistent view
    kWrite,  ///< takes the write lock at once
  };
  Transaction(Database& database, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();

 private:
  Database& database_;
};

}  // namespace fareway
