#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "router/config/config.hpp"

namespace fareway {

/// Lower-case hex SHA-256. Throws std::runtime_error only where OpenSSL itself is out of order.
std::string sha256_hex(std::string_view text);

/// Finds the key a client presented. The secret itself is hashed first and kept nowhere, so the time a
/// look-up takes tells nothing about the keys that exist.
class KeyRing {
 public:
  /// `keys` outlives the ring.
  explicit KeyRing(const std::vector<ApiKey>& keys);

  /// Nothing where the secret is not known.
  const ApiKey* find(std::string_view secret) const;

 private:
  std::unordered_map<std::string, const ApiKey*> by_hash_;
};

/// The credential of an `Authorization` value; the scheme's case and blanks around the token do not matter.
/// Empty where it is not a bearer token.
std::string_view bearer_token(std::string_view authorization);

}  // namespace fareway
