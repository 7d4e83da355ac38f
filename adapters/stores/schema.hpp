#pragma once

#include <filesystem>
#include <span>

#include "adapters/stores/database.hpp"
#include "migrations/embedded.hpp"

namespace fareway {

/// How many of `migrations` the database has. Throws std::runtime_error naming `file` where it is no ledger,
/// was made by a newer version, or has a migration whose text was changed since. Changes nothing.
std::size_t applied_migrations(Database& database, const std::filesystem::path& file,
                               std::span<const Migration> migrations);

/// Applies what is missing, each in its own transaction, and returns how many that were. Throws as above, and
/// where one fails; those before it stay applied.
int apply_migrations(Database& database, const std::filesystem::path& file,
                     std::span<const Migration> migrations);

}  // namespace fareway
