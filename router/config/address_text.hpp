#pragma once

#include <string_view>

#include "router/config/problems.hpp"

namespace fareway {

/// "host:port" with IPv6 in brackets, as a listener takes it. Port 0 means any free port.
Checked<ListenAddress> parse_listen_address(std::string_view text);

struct EndpointUrl {
  ListenAddress address;
  bool secure{false};  ///< https
};
/// "http://host:port" or "https://host:port" and nothing after it: where an engine listens. Port 0 is
/// refused. Complaints never repeat the text, which may hold a password.
Checked<EndpointUrl> parse_endpoint(std::string_view url);

/// The same host and port, whatever the case of the host's letters.
bool same_address(const ListenAddress& a, const ListenAddress& b);
bool is_loopback(const ListenAddress& address);

}  // namespace fareway
