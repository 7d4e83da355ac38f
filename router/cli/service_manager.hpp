#pragma once

#include <optional>
#include <string>

namespace fareway {

// What systemd, or whoever speaks its protocol, hands to a service and wants to hear from it
// (sd_listen_fds(3), sd_notify(3)). Started by anything else, all of this does nothing.

/// The listening socket that was handed over, for the gateway's address; its connections wait there while no
/// process is running. Nothing where none was handed over. To be asked once: children do not inherit it.
/// Throws std::runtime_error where there is more than one, or it is not a TCP socket that listens.
std::optional<int> handed_over_listener();

void say_ready();
void say_reloading();  ///< `say_ready` ends it
void say_stopping();
/// The data loop is alive; wanted as often as `WatchdogSec` says, in half that time.
void say_alive();

}  // namespace fareway
