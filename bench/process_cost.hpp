#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <sys/types.h>
#include <vector>

namespace fareway::bench {

/// Processor time that all threads of these processes have used, from the scheduler's own nanosecond count
/// (/proc/PID/task/TID/schedstat); a thread that has ended is not in it. Throws std::runtime_error where a
/// process does not exist.
std::chrono::nanoseconds processor_time(std::span<const pid_t> processes);

/// Proportional set size of these processes (/proc/PID/smaps_rollup). Throws std::runtime_error.
std::int64_t memory_bytes(std::span<const pid_t> processes);

/// Time each core has spent idle since the system started, in steps of a hundredth of a second.
std::vector<std::chrono::duration<double>> idle_times();

}  // namespace fareway::bench
