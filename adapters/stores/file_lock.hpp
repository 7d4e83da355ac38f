#pragma once

#include <filesystem>

namespace fareway {

/// Holds `<file>.lock` for as long as it lives, so that one process writes the ledger at a time. The lock
/// goes with the process, however it ends; the lock file stays, with the process id of its last holder
/// inside.
class FileLock {
 public:
  /// Throws std::runtime_error with one clear line: in use (and by which process), or cannot be made.
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  int descriptor_;
};

}  // namespace fareway
