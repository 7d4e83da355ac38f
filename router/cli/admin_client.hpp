#pragma once

#include <string>
#include <string_view>

namespace fareway {

/// Asks the admin listener of a running gateway, one request a connection. Throws std::runtime_error with the
/// listener's own message where it refuses, and with what to do where nobody listens.
class AdminClient {
 public:
  /// `url`: "http://127.0.0.1:9090" or "127.0.0.1:9090"; empty: the default address of the configuration.
  explicit AdminClient(std::string_view url);

  std::string get(std::string_view target) const;
  std::string post(std::string_view target, std::string body) const;

 private:
  std::string ask(bool post, std::string_view target, std::string body) const;

  std::string host_;
  std::string port_;
};

/// For one part of a path or query.
std::string percent_encoded(std::string_view text);

}  // namespace fareway
