#include "adapters/stores/file_lock.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace fareway {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// The holder's process id; empty where it has not written one yet.
std::string holder(int descriptor) {
  std::array<char, 24> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  if (size <= 0) return {};
  const std::string_view all(text.data(), static_cast<std::size_t>(size));
  return std::string(all.substr(0, all.find_first_not_of("0123456789")));
}

/// Best effort: the lock holds without it, only the next one's error message is poorer.
void write_holder(int descriptor) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor, pid.data(), pid.size(), 0);
  }
}

std::runtime_error in_use(const std::filesystem::path& file, const std::string& pid) {
  return std::runtime_error("ledger " + file.string() + " is in use by " +
                            (pid.empty() ? "another process" : "process " + pid) +
                            " (another fareway?): stop that one first, or name another ledger file");
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file) {
  const std::filesystem::path lock = file.string() + ".lock";
  descriptor_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    throw std::runtime_error("ledger " + file.string() + ": cannot open its lock file " + lock.string() +
                             ": " + reason(errno) + "; fareway must be allowed to write in that folder");
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::string pid = holder(descriptor_);
    ::close(descriptor_);
    if (error == EWOULDBLOCK) throw in_use(file, pid);
    throw std::runtime_error("ledger " + file.string() + ": cannot lock " + lock.string() + ": " +
                             reason(error) + "; the ledger needs a local file system");
  }
  write_holder(descriptor_);
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace fareway
