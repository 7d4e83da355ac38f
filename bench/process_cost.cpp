#include "bench/process_cost.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>

namespace fareway::bench {
namespace {

std::filesystem::path folder_of(pid_t process) {
  return std::filesystem::path("/proc") / std::to_string(process);
}

}  // namespace

std::chrono::nanoseconds processor_time(std::span<const pid_t> processes) {
  std::chrono::nanoseconds sum{0};
  for (const pid_t process : processes) {
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(folder_of(process) / "task", error)) {
      std::int64_t running = 0;
      if (std::ifstream(thread.path() / "schedstat") >> running) sum += std::chrono::nanoseconds{running};
    }
    if (error)
      throw std::runtime_error("process " + std::to_string(process) + " is gone: " + error.message());
  }
  return sum;
}

std::int64_t memory_bytes(std::span<const pid_t> processes) {
  constexpr std::int64_t kKibibyte = 1024;
  std::int64_t sum = 0;
  for (const pid_t process : processes) {
    std::ifstream rollup(folder_of(process) / "smaps_rollup");
    std::string word;
    std::int64_t kibibytes = -1;
    while (kibibytes < 0 && rollup >> word) {
      if (word == "Pss:") rollup >> kibibytes;
    }
    if (kibibytes < 0)
      throw std::runtime_error("cannot read the memory of process " + std::to_string(process));
    sum += kibibytes * kKibibyte;
  }
  return sum;
}

std::vector<std::chrono::duration<double>> idle_times() {
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::vector<std::chrono::duration<double>> idle;
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    std::istringstream fields(line);
    std::string core;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle_ticks = 0;
    double waiting_ticks = 0;
    if (fields >> core >> user >> nice >> system >> idle_ticks >> waiting_ticks && core.starts_with("cpu") &&
        core != "cpu") {
      idle.emplace_back((idle_ticks + waiting_ticks) / ticks_per_second);
    }
  }
  return idle;
}

}  // namespace fareway::bench
