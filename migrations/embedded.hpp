#pragma once

#include <span>
#include <string_view>

namespace fareway {

/// One numbered SQL file, as it was when the program was built.
struct Migration {
  int number{};
  std::string_view name;  ///< the file's name without ".sql", such as "0001_ledger"
  std::string_view sql;
};

/// The files of migrations/sqlite in order, numbered 1, 2, 3 … without a gap (the build checks).
std::span<const Migration> sqlite_migrations();

}  // namespace fareway
