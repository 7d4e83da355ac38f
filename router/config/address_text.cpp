#include "router/config/address_text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <limits>
#include <netinet/in.h>
#include <optional>
#include <string>

#include <boost/algorithm/string/predicate.hpp>

namespace fareway {
namespace {

constexpr std::size_t kLongestHost = 253;  // RFC 1035

bool is_ipv6(const std::string& host) {
  in6_addr parsed{};
  return ::inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

bool is_ipv4(const std::string& host) {
  in_addr parsed{};
  return ::inet_pton(AF_INET, host.c_str(), &parsed) == 1;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_';
}

/// Digits and points alone must be an address: no host is named "127.0.0.256".
bool is_name_or_ipv4(const std::string& host) {
  if (host.empty() || host.size() > kLongestHost || !std::ranges::all_of(host, is_name_character))
    return false;
  return host.find_first_not_of("0123456789.") != std::string::npos || is_ipv4(host);
}

std::optional<std::uint16_t> to_port(std::string_view text) {
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || port > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

Checked<ListenAddress> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  const std::size_t bracket = text.find(']');
  const bool has_port = colon != std::string_view::npos && (!bracketed || bracket + 1 == colon);
  if (!has_port) return Complaint{"has no port; write host:port, with IPv6 in brackets as [::1]:8080"};
  const auto port = to_port(text.substr(colon + 1));
  if (!port) return Complaint{"has a port that is no number from 0 to 65535"};
  if (bracketed) {
    std::string host(text.substr(1, bracket - 1));
    if (!is_ipv6(host)) return Complaint{"has no IPv6 address in its brackets; write it as [::1]:8080"};
    return ListenAddress{.host = std::move(host), .port = *port};
  }
  std::string host(text.substr(0, colon));
  if (host.find(':') != std::string::npos)
    return Complaint{"needs its IPv6 address in brackets, as [::1]:8080"};
  if (!is_name_or_ipv4(host)) return Complaint{"has no valid host name or address before its port"};
  return ListenAddress{.host = std::move(host), .port = *port};
}

}  // namespace

Checked<ListenAddress> parse_listen_address(std::string_view text) {
  return parse_host_port(text);
}

Checked<EndpointUrl> parse_endpoint(std::string_view url) {
  constexpr std::string_view kPlain = "http://";
  constexpr std::string_view kSecure = "https://";
  const bool secure = url.starts_with(kSecure);
  if (!secure && !url.starts_with(kPlain)) {
    return Complaint{"must start with http:// or https://; write http://host:port"};
  }
  const std::string_view authority = url.substr(secure ? kSecure.size() : kPlain.size());
  if (authority.find('@') != std::string_view::npos) {
    return Complaint{"must not hold a user name or password; name a variable in api_key_env instead"};
  }
  if (authority.find_first_of("/?#") != std::string_view::npos) {
    return Complaint{"must end after the port: the path comes from the request; write http://host:port"};
  }
  const Checked<ListenAddress> address = parse_host_port(authority);
  if (!address) return address.error();
  if (address->port == 0) return Complaint{"has port 0; write the port the engine listens on"};
  return EndpointUrl{.address = *address, .secure = secure};
}

bool same_address(const ListenAddress& a, const ListenAddress& b) {
  return a.port == b.port && boost::algorithm::iequals(a.host, b.host);
}

bool is_loopback(const ListenAddress& address) {
  return address.host == "::1" || address.host.starts_with("127.") ||
         boost::algorithm::iequals(address.host, "localhost");
}

}  // namespace fareway
