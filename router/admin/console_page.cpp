#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "router/admin/console_html.hpp"
#include "router/admin/pages.hpp"

namespace fareway {

namespace {

/// What stands between the first `open` and the `close` after it.
std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const auto begin = text.find(open);
  const auto end = text.find(close, begin);
  if (begin == std::string_view::npos || end == std::string_view::npos)
    throw std::logic_error("console.html has no " + std::string(open) + " element");
  return text.substr(begin + open.size(), end - begin - open.size());
}

/// A Content-Security-Policy source that allows exactly this inline text.
std::string hash_source(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not available from OpenSSL");
  std::array<unsigned char, 4 * ((EVP_MAX_MD_SIZE + 2) / 3) + 1> base64{};
  const int size = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(length));
  return "'sha256-" + std::string(base64.begin(), base64.begin() + size) + "'";
}

std::string policy(std::string_view html) {
  return "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
         "'none'; script-src " +
         hash_source(between(html, "<script>", "</script>")) + "; style-src " +
         hash_source(between(html, "<style>", "</style>"));
}

}  // namespace

AdminAnswer console_page() {
  const std::string_view html = console_html();
  return {.content_type = "text/html; charset=utf-8",
          .body = std::string(html),
          .headers = {{"Content-Security-Policy", policy(html)}}};
}

}  // namespace fareway
