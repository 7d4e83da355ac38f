#include "router/gateway/auth.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

#include <openssl/evp.h>

namespace fareway {

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(std::size_t{size} * 2);
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4u];
    hex += kDigits[digest[i] & 15u];
  }
  return hex;
}

KeyRing::KeyRing(const std::vector<ApiKey>& keys) {
  for (const ApiKey& key : keys) by_hash_.emplace(key.sha256, &key);
}

const ApiKey* KeyRing::find(std::string_view secret) const {
  if (secret.empty()) return nullptr;
  const auto it = by_hash_.find(sha256_hex(secret));
  return it == by_hash_.end() ? nullptr : it->second;
}

std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer";
  if (authorization.size() <= kScheme.size() || authorization[kScheme.size()] != ' ') return {};
  const bool bearer = std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char a, char b) {
    return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
  });
  if (!bearer) return {};
  authorization.remove_prefix(kScheme.size());
  const std::size_t first = authorization.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  const std::size_t last = authorization.find_last_not_of(" \t");
  return authorization.substr(first, last - first + 1);
}

}  // namespace fareway
