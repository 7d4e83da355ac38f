#include "adapters/stores/database.hpp"

#include <cassert>
#include <string>
#include <system_error>

#include <sqlite3.h>

namespace fareway {
namespace {

/// SQLite says "disk I/O error" to whatever the system reports; its extended code tells which operation
/// failed, and where SQLite has kept the system's own reason, that comes too.
DatabaseError describe(sqlite3* handle, int code) {
  std::string what = handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle);
  const int primary = code & 0xff;
  if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) {
    const int system = handle == nullptr ? 0 : sqlite3_system_errno(handle);
    if (system != 0) what += ": " + std::generic_category().message(system);
    what += " (SQLite code " + std::to_string(code) + ")";
  }
  return {code, what};
}

}  // namespace

void Database::Closer::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Database::Database(const std::filesystem::path& file, Mode mode, std::chrono::milliseconds busy_timeout) {
  const int access =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(file.c_str(), &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  handle_.reset(handle);  // SQLite hands out a handle even when opening failed
  if (code != SQLITE_OK) throw describe(handle, code);
  sqlite3_busy_timeout(handle, static_cast<int>(busy_timeout.count()));
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw describe(handle_.get(), code);
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(handle_.get()) == 0;
}

bool Database::writable() const {
  return sqlite3_db_readonly(handle_.get(), "main") == 0;
}

void Database::expect_in_place() {
  int moved = 0;
  const int code = sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (code != SQLITE_OK) throw describe(handle_.get(), code);
  if (moved != 0) {
    throw DatabaseError(SQLITE_READONLY_DBMOVED, "the file was moved or removed while in use: put it back");
  }
}

Statement::Rewind::~Rewind() {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(Database& database, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database.handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) throw describe(database.handle_.get(), code);
  handle_.reset(statement);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(handle_.get(), column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(handle_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

void Statement::bind_null(int index) {
  check(sqlite3_bind_null(handle_.get(), index));
}

void Statement::bind_integer(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), index, value));
}

void Statement::bind_real(int index, double value) {
  check(sqlite3_bind_double(handle_.get(), index, value));
}

void Statement::bind_text(int index, std::string_view value) {
  // Not copied: the values outlive the run. An empty view may have no address, which SQLite would take for
  // NULL.
  const char* bytes = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_text64(handle_.get(), index, bytes, value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::expect_bound([[maybe_unused]] int count) const {
  assert(count == sqlite3_bind_parameter_count(handle_.get()));
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw describe(sqlite3_db_handle(handle_.get()), code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) throw describe(sqlite3_db_handle(handle_.get()), code);
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
  database_.execute(kind == Kind::kRead ? "BEGIN" : "BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  // Errors such as a full disk may have rolled it back already; where the rollback itself fails, the next
  // BEGIN says so.
  if (database_.in_transaction()) {
    sqlite3_exec(database_.handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
}

}  // namespace fareway
