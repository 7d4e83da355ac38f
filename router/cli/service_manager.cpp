#include "router/cli/service_manager.hpp"

#include <ctime>
#include <stdexcept>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

namespace fareway {

std::optional<int> handed_over_listener() {
  const int count = sd_listen_fds(1);
  if (count <= 0) return std::nullopt;
  if (count > 1) {
    throw std::runtime_error("the service manager handed over " + std::to_string(count) +
                             " sockets; give fareway.socket one ListenStream, the gateway's");
  }
  const int listener = SD_LISTEN_FDS_START;
  if (sd_is_socket_inet(listener, AF_UNSPEC, SOCK_STREAM, 1, 0) <= 0) {
    throw std::runtime_error(
        "the socket that the service manager handed over is no TCP socket that listens; see fareway.socket");
  }
  return listener;
}

void say_ready() {
  sd_notify(0, "READY=1");
}

void say_reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  constexpr long long kMicrosPerSecond = 1'000'000;
  constexpr long long kNanosPerMicro = 1'000;
  sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
             now.tv_sec * kMicrosPerSecond + now.tv_nsec / kNanosPerMicro);
}

void say_stopping() {
  sd_notify(0, "STOPPING=1");
}

void say_alive() {
  sd_notify(0, "WATCHDOG=1");
}

}  // namespace fareway
